"""Metadata and tables that are well-formed files but say nonsense: named by entry and value, never guessed."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gemel.artifacts.finding import Finding
from gemel.services.formats.source import open_source
from services.formats.damage import DATA, EPISODES, INFO, assert_refused, edit_json, edit_table, said, with_column
from services.formats.mutations import ingest_log, inspect_log

IMAGE = "observation.images."
KEY = IMAGE + "front"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[joints]\nshoulder = 3", r"\[joints.shoulder\] must be a table"),
        ("[robot]\nmodle = 'x'", "Closest: 'model'"),
        ("robot = 'x'", "robot must be a table"),
        ("[episodes]\nscan = 3", "scan is 3, not a list"),
        ("[episodes]\nscan = ['a']", "scan is 'a', not int"),
        ("[episodes.object]\ncube = 3", "object.cube is 3, not a list"),
        ("[cameras.frond]\nwidth = 3", "'frond' is unknown. Closest: 'front'"),
        ("[cameras]\nfront = 3", r"\[cameras.front\] must be a table, not 3"),
        ("[joints.elbo]\nunit = 'deg'", "'elbo' is unknown"),
        ("[unknown]", "'unknown' is unknown"),
    ],
)
def test_a_wrong_side_car(text: str, message: str, log: Path) -> None:
    """The file, the table and the closest name."""
    (log / "meta" / "gemel.toml").write_text(text)
    code, shown = inspect_log(log)
    assert code == 2
    assert re.search(message, shown), shown
    assert "meta/gemel.toml" in shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codebase_version": "v2.1"}, "says LeRobot v2.1; this reader knows v3.0"),
        ({"fps": "30"}, "fps is '30', not a positive number"),
        ({"fps": 0}, "fps is 0"),
        ({"fps": float("nan")}, "fps is nan"),
        ({"fps": float("inf")}, "fps is inf"),
        ({"fps": None}, "fps is None"),
        ({"fps": True}, "fps is True"),
        ({"features": None}, "lacks or garbles"),
        ({"features": []}, "lacks or garbles"),
        ({"features": {"action": 3}}, "lacks or garbles"),
        ({"features": {"action": {"dtype": "float32"}}}, "KeyError: 'shape'"),
        ({"features": {"action": {"dtype": "float32", "shape": [10**12]}}}, "'action' has shape"),
        ({"features": {"action": {"dtype": "float32", "shape": [-3]}}}, "'action' has shape"),
        ({"features": {"action": {"dtype": "float32", "shape": "3"}}}, "'action' has shape"),
        ({"features": {"action": {"dtype": "float32", "shape": [2, 3]}}}, "not one size"),
        ({"features": {"action": {"dtype": "float32", "shape": [2], "names": ["a", "a"]}}}, "two elements alike"),
        ({"features": {KEY: {"dtype": "video", "shape": [3]}}}, r"is a video of shape \[3\]"),
        ({"features": {KEY: {"dtype": "video", "shape": [0, 0, 3]}}}, "is a video of shape"),
        ({"features": {k: {"dtype": "video", "shape": [4, 4, 3]} for k in ("x", IMAGE + "x")}}, r"the cameras \['x'\]"),
        ({"total_episodes": float("inf")}, "lacks or garbles"),
        ({"total_episodes": "many"}, "lacks or garbles"),
    ],
)  # fmt: skip
def test_info_that_says_nonsense(change: dict[str, Any], message: str, log: Path) -> None:
    """Each entry is named with its value; nothing is guessed."""
    edit_json(log / INFO, lambda tree: tree.update(change))
    code, text = inspect_log(log)
    assert code == 2
    assert re.search(message, text), text
    assert "What to do" in text


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "3", "[" * 200_000, '{"a": "\\ud800"}', '{"a": ' + "9" * 5000 + "}", "\ufeff{}"]
)
def test_info_that_is_no_json_object(text: str, log: Path) -> None:
    """Cut off, another kind, absurdly nested, unprintable, absurdly long."""
    (log / INFO).write_text(text)
    code, shown = inspect_log(log)
    assert code == 2
    assert "info.json" in shown


@pytest.mark.parametrize("size", [2, 4, 1000])
def test_a_state_of_another_width_thansaid(size: int, log: Path) -> None:
    """The feature's shape and the table disagree: both numbers are given."""
    edit_json(log / INFO, lambda tree: tree["features"]["observation.state"].update(shape=[size], names=None))
    (log / "meta" / "gemel.toml").unlink()
    assert inspect_log(log)[0] == 1
    assert re.search(rf"\[unreadable-episode\] episode 3: .*36 numbers for 12 rows of width {size}", said(log))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("episode_index", [0, 1, None, 3], "column 'episode_index' holds None"),
        ("episode_index", [0, 1, -2, 3], "column 'episode_index' holds -2"),
        ("episode_index", [0.0, 1.0, 2.5, 3.0], "column 'episode_index' holds 2.5"),
        ("episode_index", ["a"] * 4, "cannot be read: invalid literal"),
        ("length", [12, 12, 12, -1], "column 'length' holds -1"),
        ("length", [12.0, 12.0, 12.0, float("inf")], "cannot be read"),
        ("data/chunk_index", [None] * 4, "column 'data/chunk_index' holds None"),
        (f"videos/{KEY}/from_timestamp", [0.0, 1.2, float("nan"), 3.6], "starts at nan s"),
        (f"videos/{KEY}/from_timestamp", [0.0, 1.2, -2.4, 3.6], "starts at -2.4 s"),
        (f"videos/{KEY}/from_timestamp", [None] * 4, "cannot be read"),
        ("tasks", [1, 2, 3, 4], "cannot be read"),
    ],
)
def test_an_episode_list_that_says_nonsense(column: str, values: list[Any], message: str, log: Path) -> None:
    """The column and its value, and the table's path."""
    edit_table(log / EPISODES, with_column(column, values))
    code, text = inspect_log(log)
    assert code == 2
    assert re.search(message, text), text
    assert EPISODES in text


@pytest.mark.parametrize("column", ["episode_index", "length", "data/file_index", f"videos/{KEY}/from_timestamp"])
def test_an_episode_list_without_a_column(column: str, log: Path) -> None:
    """The missing column is named."""
    edit_table(log / EPISODES, lambda table: table.drop_columns([column]))
    assert_refused(log, 2, rf"lacks the columns \['{column}'\]")


def test_a_column_twice(log: Path) -> None:
    """Which of the two would be right?"""
    edit_table(log / DATA, lambda table: table.append_column("timestamp", table["timestamp"]))
    assert_refused(log, 1, r"has the columns \['timestamp'\] more than once")


@pytest.mark.parametrize(
    ("column", "values", "code"),
    [
        ("timestamp", ["now"] * 48, 1),
        ("timestamp", [None] * 48, 1),
        ("timestamp", [float("nan")] * 48, 1),
        ("timestamp", list(np.arange(48)[::-1] / 10), 1),
        ("timestamp", list(np.arange(48) * 1e9), 1),
        ("timestamp", [0.0] * 48, 0),
        ("episode_index", [None] * 48, 1),
        ("episode_index", [2**62] * 48, 1),
        ("episode_index", [float("nan")] * 48, 1),
        ("observation.state", [[1.0]] * 48, 1),
        ("observation.state", [[]] * 48, 1),
        ("observation.state", [["x", "y", "z"]] * 48, 1),
        ("observation.state", [{"bytes": 1}] * 48, 1),
        ("observation.state", list(range(48)), 1),
        ("task_index", [None] * 48, 0),
    ],
)
def test_data_columns_of_another_kind(column: str, values: list[Any], code: int, log: Path) -> None:
    """Text, structures, other widths, other orders: findings, not tracebacks."""
    edit_table(log / DATA, with_column(column, values))
    assert inspect_log(log)[0] == code
    assert bool(ingest_log(log, log.parent / "project")) is bool(code)


def test_a_data_table_without_rows(log: Path) -> None:
    """All episodes are missing, and each is said to be."""
    edit_table(log / DATA, lambda table: table.slice(0, 0))
    assert_refused(log, 1, *(rf"\[missing-episode\] episode {i}" for i in range(4)))


def test_an_episode_list_without_rows(log: Path) -> None:
    """No episodes at all: ingest has nothing to take in."""
    edit_table(log / EPISODES, lambda table: table.slice(0, 0))
    assert inspect_log(log)[0] == 0
    assert "has no episodes" in ingest_log(log, log.parent / "project")


def test_features_that_are_not_taken_in_are_listed(log: Path) -> None:
    """Depth, images inside tables and matrices are noted, so that nobody waits for them."""
    extra = {
        "observation.images.depth": {"dtype": "video", "shape": [4, 4, 1], "info": {"is_depth_map": True}},
        "observation.image": {"dtype": "image", "shape": [4, 4, 3]},
    }
    edit_json(log / INFO, lambda tree: tree["features"].update(extra))
    findings: list[Finding] = []
    open_source(log).check_files(findings.append)
    assert {f.stream for f in findings if f.code == "feature-not-read"} == set(extra)


def test_every_documented_finding_exists() -> None:
    """docs/formats.md names no code that the sources do not have."""
    repository = Path(__file__).parents[3]
    table = (repository / "docs" / "formats.md").read_text().split("## What `gemel inspect` checks")[1]
    codes = set(re.findall(r"`([a-z]+(?:-[a-z]+)*)`", table)) - {"gemel"}
    sources = "".join(path.read_text() for path in (repository / "src").rglob("*.py"))
    assert len(codes) > 25
    assert not {code for code in codes if f'"{code}"' not in sources}
