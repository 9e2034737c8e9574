"""Frozen dataclasses from TOML tables and back, with messages that name the place, the key and the closest match."""

import dataclasses
import json
import tomllib
import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from gemel.errors import ConfigError, SourceError, choices_text

T = TypeVar("T")


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as nested tables."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SourceError(f"There is no file {path}.", remedy="check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SourceError(f"{path} is not valid TOML: {error}.", remedy="correct that line") from error


def from_table(cls: type[T], table: Mapping[str, Any], *, where: str) -> T:
    """Build `cls` from a table; unknown keys and wrong types are refused."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where} must be a table, not {table!r}.", remedy="write it as `key = value` lines")
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for key in table:
        if key not in fields:
            raise ConfigError(
                f"Key in {where}: {choices_text(key, tuple(fields))}", remedy="correct or remove that key"
            )
    missing = [name for name, field in fields.items() if _is_required(field) and name not in table]
    if missing:
        raise ConfigError(f"{where} lacks {missing}.", remedy="add the missing keys")
    values = {key: _convert(value, hints[key], f"{where} {key}") for key, value in table.items()}
    return cls(**values)


def _is_required(field: Any) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _convert(value: Any, hint: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [a for a in arguments if a is not type(None)]
        return None if value is None else _convert(value, inner[0], where)
    if origin is tuple and isinstance(value, list):
        return tuple(_convert(item, arguments[0], where) for item in value)
    if origin in (dict, Mapping, typing.Mapping) or hint is dict:
        return {k: _convert(v, arguments[1], f"{where}.{k}") for k, v in value.items()}
    if origin is typing.Literal and value in arguments:
        return value
    if origin is typing.Literal:
        raise ConfigError(f"{where} {choices_text(str(value), arguments)}", remedy="use one of the choices")
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum(value, hint, where)
    if dataclasses.is_dataclass(hint):
        return from_table(typing.cast(type[Any], hint), value, where=where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is Any or (isinstance(value, hint) and not (hint is int and isinstance(value, bool))):
        return value
    name = getattr(hint, "__name__", str(hint))
    raise ConfigError(f"{where} is {value!r}, not {name}.", remedy=f"give a value of type {name}")


def _enum(value: Any, hint: type[Enum], where: str) -> Enum:
    choices = tuple(str(member.value) for member in hint)
    if value not in choices:
        raise ConfigError(f"{where} {choices_text(str(value), choices)}", remedy="use one of the choices")
    return hint(value)


def toml_value(value: Any) -> str:
    """One value as TOML text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return json.dumps(str(value), ensure_ascii=False)  # a TOML basic string is a JSON string


def toml_key(name: str) -> str:
    """A key, quoted where it has to be."""
    return name if name and all((c.isalnum() and c.isascii()) or c in "-_" for c in name) else json.dumps(name)


def toml_lines(table: Mapping[str, Any], prefix: str) -> list[str]:
    """A `[prefix]` table as lines of text."""
    return [f"[{prefix}]", *(f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items())]
