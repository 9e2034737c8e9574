"""The part of JSON Schema that our schemas use, so that tests need no further package."""

from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "null": (type(None),), "boolean": (bool,),
}  # fmt: skip
_KNOWN = {
    "$schema", "title", "description", "type", "properties", "required", "additionalProperties", "items", "enum",
    "const", "minimum", "maximum", "anyOf",
}  # fmt: skip


def problems(value: Any, schema: dict[str, Any], where: str = "$") -> list[str]:
    """What in a value is not as the schema says; a keyword that is not known here is a problem too."""
    found = [f"{where}: unknown keyword {key}" for key in schema if key not in _KNOWN]
    wanted = schema.get("type", [])
    kinds = [wanted] if isinstance(wanted, str) else wanted
    if kinds and not any(
        isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "boolean") for kind in kinds
    ):
        return [*found, f"{where}: {value!r} is not {wanted}"]
    if "anyOf" in schema and all(problems(value, choice) for choice in schema["anyOf"]):
        found.append(f"{where}: {value!r} is none of {schema['anyOf']}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where}: {value!r} is none of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{where}: {value!r} is not {schema['const']!r}")
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{where}: {value!r} is out of range")
    if isinstance(value, dict):
        found += _of_object(value, schema, where)
    if isinstance(value, list) and "items" in schema:
        found += [p for i, item in enumerate(value) for p in problems(item, schema["items"], f"{where}[{i}]")]
    return found


def _of_object(value: dict[str, Any], schema: dict[str, Any], where: str) -> list[str]:
    properties, extra = schema.get("properties", {}), schema.get("additionalProperties", True)
    found = [f"{where}: {key} is missing" for key in schema.get("required", []) if key not in value]
    for key, item in value.items():
        if key in properties:
            found += problems(item, properties[key], f"{where}.{key}")
        elif extra is False:
            found.append(f"{where}: {key} is not expected")
        elif isinstance(extra, dict):
            found += problems(item, extra, f"{where}.{key}")
    return found
