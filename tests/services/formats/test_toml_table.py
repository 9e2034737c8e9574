"""Frozen dataclasses from TOML: wrong keys and types are refused by name, and what is written reads back."""

import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.errors import ConfigError, SourceError
from gemel.services.formats.toml_table import from_table, read_toml, toml_key, toml_lines, toml_value


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    size: int = 1

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ConfigError(f"Size {self.size} is negative.", remedy="make it positive")


@dataclass(frozen=True)
class Outer:
    name: str
    rate_hz: float = 1.0
    count: int = 0
    is_on: bool = False
    colour: Colour = Colour.RED
    mode: Literal["fast", "slow"] = "fast"
    limit: float | None = None
    path: tuple[str, ...] = ()
    inner: Inner = field(default_factory=Inner)
    inners: dict[str, Inner] = field(default_factory=dict)
    free: dict[str, Any] = field(default_factory=dict)


def test_a_full_table() -> None:
    """Every kind of field; whole numbers serve as floats."""
    table = {
        "name": "x", "rate_hz": 3, "count": 2, "is_on": True, "colour": "blue", "mode": "slow", "limit": 2.5,
        "path": ["a", "b"], "inner": {"size": 4}, "inners": {"k": {"size": 5}}, "free": {"any": [1, "x"]},
    }  # fmt: skip
    made = from_table(Outer, table, where="t")
    assert made == Outer(
        "x", 3.0, 2, True, Colour.BLUE, "slow", 2.5, ("a", "b"), Inner(4), {"k": Inner(5)}, {"any": [1, "x"]}
    )
    assert isinstance(made.rate_hz, float)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, r"t lacks \['name'\]"),
        ({"name": "x", "rate_hs": 1.0}, r"Key in t: 'rate_hs' is unknown. Closest: 'rate_hz'"),
        ({"name": 3}, "t name is 3, not str"),
        ({"name": "x", "rate_hz": "fast"}, "t rate_hz is 'fast', not float"),
        ({"name": "x", "rate_hz": True}, "t rate_hz is True, not float"),
        ({"name": "x", "rate_hz": float("nan")}, "t rate_hz is nan, not a finite number"),
        ({"name": "x", "rate_hz": 10**400}, "t rate_hz is inf, not a finite number"),
        ({"name": "x", "count": 1.5}, "t count is 1.5, not int"),
        ({"name": "x", "count": True}, "t count is 'true', not int"),
        ({"name": "x", "is_on": 1}, "t is_on is 1, not bool"),
        ({"name": "x", "colour": "bleu"}, r"t colour 'bleu' is unknown. Closest: 'blue'"),
        ({"name": "x", "mode": ["fast"]}, "t mode .*is unknown"),
        ({"name": "x", "limit": "1"}, "t limit is '1', not float"),
        ({"name": "x", "path": "a"}, "t path is 'a', not a list"),
        ({"name": "x", "path": [1]}, "t path is 1, not str"),
        ({"name": "x", "inner": 3}, "t inner must be a table, not 3"),
        ({"name": "x", "inner": {"sice": 1}}, r"Key in t inner: 'sice' is unknown. Closest: 'size'"),
        ({"name": "x", "inner": {"size": -1}}, "t inner: Size -1 is negative"),
        ({"name": "x", "inners": [1]}, r"t inners is \[1\], not a table"),
        ({"name": "x", "inners": {"k": {"size": "s"}}}, "t inners.k size is 's', not int"),
    ],
)
def test_wrong_tables_are_refused_by_name(table: dict[str, Any], message: str) -> None:
    """Place, key, value and what was expected, and something to do."""
    with pytest.raises(ConfigError, match=message) as caught:
        from_table(Outer, table, where="t")
    assert caught.value.remedy


@pytest.mark.parametrize(
    "data", [b"a = ", b"a = 1\na = 2", b"\xff\xfe", b"a = " + b"[" * 100_000, b"= 3", b"a = 99999-99-99"]
)
def test_files_that_are_no_toml(data: bytes, tmp_path: Path) -> None:
    """Damaged, doubled, not UTF-8, absurdly nested: one error that names the file."""
    path = tmp_path / "x.toml"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"x\.toml is not valid TOML"):
        read_toml(path)


def test_a_missing_file(tmp_path: Path) -> None:
    """A file that is not there, and a folder in its place."""
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(SourceError, match="There is no file"):
            read_toml(path)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.dictionaries(TEXT, VALUES, max_size=5))
def test_what_is_written_reads_back(table: dict[str, Any]) -> None:
    """toml_lines is the inverse of tomllib for any text, number and list."""
    text = "\n".join(toml_lines(table, "top"))
    assert tomllib.loads(text) == {"top": table}


def test_keys_are_quoted_only_where_needed() -> None:
    """Plain names stay plain; dots, spaces and other scripts are quoted; tuples are lists."""
    assert [toml_key(k) for k in ("a-b_1", "a.pos", "ç", "")] == ["a-b_1", '"a.pos"', '"ç"', '""']
    assert toml_value((1, 2.5, True, "x")) == '[1, 2.5, true, "x"]'
