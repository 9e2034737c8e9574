"""Frozen dataclasses from TOML tables and back, with messages that name the place, the key and the closest match."""

import dataclasses
import json
import math
import tomllib
import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from gemel.errors import ConfigError, SourceError, choices_text

T = TypeVar("T")
_LARGEST = 10**300
"""Whole numbers beyond this would overflow a float."""


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as nested tables."""
    if not path.is_file():
        raise SourceError(f"There is no file {path}.", remedy="check the path")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:  # what tomllib raises is a ValueError
        raise SourceError(f"{path} is not valid TOML: {error}.", remedy="correct that line") from error


def from_table(cls: type[T], table: Any, *, where: str) -> T:
    """Build `cls` from what the file has in a table's place; unknown keys and wrong types are refused."""
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
    try:
        return cls(**values)
    except ConfigError as error:  # the class knows what is wrong, but not in which table it stands
        raise ConfigError(f"{where}: {error.problem}", remedy=error.remedy) from error


def _is_required(field: Any) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _convert(value: Any, hint: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [a for a in arguments if a is not type(None)]
        return _convert(value, inner[0], where)
    if origin is tuple:
        return tuple(_convert(item, arguments[0], where) for item in _expect(value, list, "a list", where))
    if origin in (dict, Mapping):
        tables = _expect(value, dict, "a table", where)
        return {k: _convert(v, arguments[1], f"{where}.{k}") for k, v in tables.items()}
    if origin is typing.Literal:
        return _choice(value, arguments, where)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(_choice(value, tuple(str(member.value) for member in hint), where))
    if dataclasses.is_dataclass(hint):
        return from_table(typing.cast(type[Any], hint), value, where=where)
    return value if hint is Any else _scalar(value, hint, where)


def _scalar(value: Any, hint: type, where: str) -> Any:
    """A number, text or truth value; whole numbers serve as floats, but truth values are no numbers."""
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < _LARGEST else math.inf
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{where} is {value}, not a finite number.", remedy="give a finite number")
    if hint is int and isinstance(value, bool):
        value = str(value).lower()
    return _expect(value, hint, hint.__name__, where)


def _expect(value: Any, kind: type[T], name: str, where: str) -> T:
    if not isinstance(value, kind):
        raise ConfigError(f"{where} is {value!r}, not {name}.", remedy=f"give a value of type {name}")
    return value


def _choice(value: Any, choices: tuple[Any, ...], where: str) -> Any:
    if value not in choices:
        raise ConfigError(f"{where} {choices_text(str(value), choices)}", remedy="use one of the choices")
    return value


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
    return _quoted(str(value))


def toml_key(name: str) -> str:
    """A key, quoted where it has to be."""
    return name if name and all((c.isalnum() and c.isascii()) or c in "-_" for c in name) else _quoted(name)


def _quoted(text: str) -> str:
    """A TOML basic string: a JSON string, except that DEL must be escaped as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_lines(table: Mapping[str, Any], prefix: str) -> list[str]:
    """A `[prefix]` table as lines of text."""
    return [f"[{prefix}]", *(f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items())]
