"""Each kind of bad input gets one clear error or finding (what, where, what to do), and nothing half-written stays."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # noqa: TID253 (to damage tables on purpose)
import pyarrow.parquet as pq  # noqa: TID253
import pytest

from gemel.artifacts.finding import Finding
from gemel.errors import SourceError
from gemel.services.formats.source import open_source
from services.formats.coded_frames import write_coded_video
from services.formats.mutations import VIDEO, ingest_log, inspect_log

DATA = "data/chunk-000/file-000.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
INFO = "meta/info.json"
IMAGE = "observation.images."
KEY = IMAGE + "front"


def _edit_json(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    tree = json.loads(path.read_text())
    edit(tree)
    path.write_text(json.dumps(tree))


def _edit_table(path: Path, edit: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(edit(pq.read_table(path)), path)


def _with_column(name: str, values: Any) -> Callable[[pa.Table], pa.Table]:
    """Replace a column by an array, or by what a function makes of the old one."""

    def edit(table: pa.Table) -> pa.Table:
        new = values(table[name].to_pylist()) if callable(values) else values
        return table.set_column(
            table.column_names.index(name), name, new if isinstance(new, pa.Array) else pa.array(new)
        )

    return edit


def _said(log: Path) -> str:
    """What opening and reading has to say, a line per finding."""
    findings: list[Finding] = []
    try:
        source = open_source(log)
        source.check_files(findings.append)
        list(source.episodes(findings.append))
    except SourceError as error:
        return str(error)
    return "\n".join(f"[{f.code}] {f.place}: {f.message} -> {f.remedy}" for f in findings)


def _refused(log: Path, code: int, *patterns: str) -> None:
    """`gemel inspect` ends with `code`; it and ingest say all of `patterns`; the store stays whole."""
    got, shown = inspect_log(log)
    said = _said(log)
    error = ingest_log(log, log.parent / "project")
    assert got == code, shown
    assert "What to do:" in error
    for pattern in patterns:
        assert re.search(pattern, said + shown, re.DOTALL), f"{pattern!r} not in\n{said}\n{shown}"


def test_truncated_parquet(log: Path) -> None:
    """Names the table, says that it is damaged, and to copy it again."""
    data = (log / DATA).read_bytes()
    (log / DATA).write_bytes(data[: len(data) // 2])
    _refused(log, 1, rf"\[unreadable-table\] episode 0-3: The table .*{DATA} cannot be read", "copy it again")


def test_truncated_episode_list(log: Path) -> None:
    """Without the list nothing can be read: exit code 2."""
    data = (log / EPISODES).read_bytes()
    (log / EPISODES).write_bytes(data[:-100])
    _refused(log, 2, rf"The table .*{EPISODES} cannot be read", "copy it again")


def test_truncated_mp4(log: Path) -> None:
    """Names the video, the episodes that need it and the camera."""
    path = log / VIDEO.format("front")
    path.write_bytes(path.read_bytes()[:-200])
    _refused(log, 1, r"\[unreadable-video\] episode 0-3 · front: The video .*file-000.mp4", "cut off", "copy it again")


def test_video_shorter_than_its_table(log: Path) -> None:
    """Says when the video ends, when the episode needs it, and from which moment frames are missing."""
    write_coded_video(log / VIDEO.format("wrist"), np.arange(30) / 10.0, fps=10.0)
    _edit_json(log / INFO, lambda t: t["features"]["observation.images.wrist"].update(shape=[48, 64, 3]))
    _refused(
        log, 1,
        r"\[video-too-short\] episode 2 · wrist · 0.50 s: The last frame of .* is at 2.90 s; episode 2 needs .* 3.50 s",
        r"\[video-too-short\] episode 3", r"\[video-frames-missing\] .*30 frames for 48 rows", "copy both again",
    )  # fmt: skip


def test_video_one_frame_short(log: Path) -> None:
    """One missing frame at the end is enough."""
    write_coded_video(log / VIDEO.format("wrist"), np.arange(47) / 10.0, fps=10.0)
    _edit_json(log / INFO, lambda t: t["features"]["observation.images.wrist"].update(shape=[48, 64, 3]))
    _refused(log, 1, r"\[video-too-short\] episode 3 · wrist · 1.00 s")


def test_video_of_another_size(log: Path) -> None:
    """Intrinsics depend on the size, so a video that differs from info.json is refused."""
    write_coded_video(log / VIDEO.format("wrist"), np.arange(48) / 10.0, fps=10.0)
    _refused(log, 1, r"\[video-size\] wrist: .*file-000.mp4 is 64x48; meta/info.json says 96x72")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None])
@pytest.mark.parametrize("name", ["observation.state", "action"])
def test_numbers_that_are_not_finite(name: str, value: float | None, log: Path) -> None:
    """NaN, infinite and missing numbers: which joint, which episode, which row."""

    def damage(rows: list[list[float]]) -> pa.Array:
        rows[17] = None if value is None else [rows[17][0], value, rows[17][2]]  # type: ignore[call-overload]
        return pa.array(rows, pa.list_(pa.float32(), 3))

    _edit_table(log / DATA, _with_column(name, damage))
    what = "shoulder.pos" if value is None else "elbow.pos"
    _refused(log, 1, rf"episode 1\s.*{what}", "not-finite", "first in\\s.*row", "made-up")


def test_a_missing_data_file(log: Path) -> None:
    """Names the file and the episodes that were in it."""
    (log / DATA).unlink()
    _refused(log, 1, rf"\[unreadable-table\] episode 0-3: The table .*{DATA} is missing", "copy it back")


def test_a_missing_video(log: Path) -> None:
    """Names the file, the camera and the episodes."""
    (log / VIDEO.format("front")).unlink()
    _refused(log, 1, r"\[unreadable-video\] episode 0-3 · front: The video .* is missing", "copy it back")


def test_an_episode_without_rows(log: Path) -> None:
    """The list names an episode that the data lack."""
    _edit_table(log / DATA, lambda table: table.slice(0, 36))
    _refused(
        log, 1, r"\[missing-episode\] episode 3: Episode 3 is listed in meta/episodes but has no rows in .*parquet"
    )


def test_rows_without_an_episode(log: Path) -> None:
    """The data hold an episode that the list lacks."""
    _edit_table(log / EPISODES, lambda table: table.slice(0, 3))
    _refused(log, 1, r"\[unlisted-episode\] episode 3: .*holds rows of episode 3")


def test_an_episode_cut_short(log: Path) -> None:
    """Fewer rows than the list says."""
    _edit_table(log / DATA, lambda table: table.slice(0, 45))
    _refused(log, 1, r"\[length-mismatch\] episode 3: Episode 3 has 9 rows; meta/episodes says 12")


def test_an_episode_in_pieces(log: Path) -> None:
    """Rows of one episode that come back after another's."""
    _edit_table(log / DATA, lambda table: pa.concat_tables([table, table.slice(0, 5)]))
    _refused(log, 1, r"\[unlisted-episode\] episode 0: .*come in several pieces")


def test_an_episode_listed_twice(log: Path) -> None:
    """Two rows for one episode leave open which is right."""
    _edit_table(log / EPISODES, lambda table: pa.concat_tables([table, table.slice(2, 1)]))
    _refused(log, 2, "meta/episodes lists episode 2 2 times", "restore meta/episodes")


def test_lying_counters_are_reported_and_not_believed(log: Path) -> None:
    """A warning with both numbers; the log is taken in by its files."""
    _edit_json(log / INFO, lambda tree: tree.update(total_episodes=50, total_frames=-3))
    code, text = inspect_log(log)
    assert code == 0
    assert re.search(r"total_episodes 50; the\s.*episode list has 4", text, re.DOTALL)
    assert ingest_log(log, log.parent / "project") == ""


def test_unknown_codec(log: Path) -> None:
    """A tag that no decoder knows: re-encode."""
    path = log / VIDEO.format("front")
    path.write_bytes(path.read_bytes().replace(b"avc1", b"zzz1"))
    _refused(log, 1, r"\[unreadable-video\] episode 0-3 · front: The codec of .*mp4 is unknown", "re-encode")


@pytest.mark.parametrize("template", ["../{file_index:03d}.parquet", "/etc/{file_index}.parquet", "{video_key}"])
def test_data_path_out_of_the_folder(template: str, log: Path) -> None:
    """A template that leads out, or that cannot be filled."""
    _edit_json(log / INFO, lambda tree: tree.update(data_path=template))
    _refused(log, 1, r"\[unreadable-table\] episode 0-3: (The log names the path|The path template)", "correct")


@pytest.mark.parametrize(
    "template", ["../{video_key}.mp4", "/tmp/{video_key}", "{chunk_index.real}", "{chunk_index:09999999d}"]
)
def test_video_path_out_of_the_folder(template: str, log: Path) -> None:
    """The same for videos: a finding per episode and camera."""
    _edit_json(log / INFO, lambda tree: tree.update(video_path=template))
    _refused(log, 1, r"\[bad-path\] episode 0 · front: (The log names the path|The path template)", "correct")


@pytest.mark.parametrize(
    "relative", [DATA, VIDEO.format("wrist"), EPISODES, "meta/tasks.parquet", INFO, "meta/gemel.toml"]
)
def test_links_out_of_the_folder(relative: str, log: Path) -> None:
    """A file that is really a link to somewhere else is not followed."""
    outside = log.parent / "elsewhere"
    (log / relative).rename(outside)
    (log / relative).symlink_to(outside)
    code, text = inspect_log(log)
    assert code in (1, 2)
    assert re.search(r"leads\s.*out of its folder", text, re.DOTALL)
    assert "leads out of its folder" in ingest_log(log, log.parent / "project")


@pytest.mark.parametrize("relative", [DATA, VIDEO.format("wrist"), EPISODES, "meta/tasks.parquet", INFO])
def test_zero_bytes(relative: str, log: Path) -> None:
    """An empty file is called empty."""
    (log / relative).write_bytes(b"")
    _refused(log, 1 if relative in (DATA, VIDEO.format("wrist")) else 2, rf"{relative} has 0 bytes", "copy it again")


@pytest.mark.parametrize("relative", [DATA, VIDEO.format("wrist"), "meta/tasks.parquet", INFO])
def test_a_pipe_in_place_of_a_file_does_not_hang(relative: str, log: Path) -> None:
    """Reading would wait for ever."""
    (log / relative).unlink()
    os.mkfifo(log / relative)
    code, text = inspect_log(log)
    assert code in (1, 2)
    assert re.search(r"is\s.*not a\s.*file", text, re.DOTALL)
    assert ingest_log(log, log.parent / "project")


ROBOT = '<mujoco><worldbody><body><joint name="{}"/><geom size="0.1"/></body></worldbody></mujoco>'


def test_a_robot_without_the_logged_joints(log: Path) -> None:
    """Inspect warns with both lists of names; ingest refuses and says how to name the joint."""
    model = log.parent / "robot.xml"
    model.write_text(ROBOT.format("knee"))
    from gemel.cli import main

    assert main(["inspect", str(log), "--robot", str(model)]) == 0
    (log / "meta" / "robot.xml").write_text(ROBOT.format("knee"))
    with (log / "meta" / "gemel.toml").open("a") as file:
        file.write('\n[robot]\nmodel = "meta/robot.xml"\n')
    error = ingest_log(log, log.parent / "project")
    assert "The robot model 'robot' has no joint for the logged 'shoulder.pos'. Joints of the model: ['knee']" in error
    assert 'name it in twin.toml: [joints."shoulder.pos"] model_joint' in error


def test_no_robot_at_all(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that leads nowhere is an error of its own; no model given is only noted."""
    from gemel.cli import main

    assert main(["inspect", str(log), "--robot", str(log / "none.xml")]) == 2
    assert "There is no robot model at" in capsys.readouterr().err
    code, text = inspect_log(log)
    assert code == 0
    assert "No robot model was given" in text


@pytest.mark.parametrize("model", ["../robot.xml", "/etc/robot.xml", "meta/none.xml"])
def test_a_robot_model_named_by_the_log(model: str, log: Path) -> None:
    """It must lie inside the log, and be there."""
    with (log / "meta" / "gemel.toml").open("a") as file:
        file.write(f'\n[robot]\nmodel = "{model}"\n')
    error = ingest_log(log, log.parent / "project")
    assert re.search("leads out of its folder|There is no robot model at", error)


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
    _edit_json(log / INFO, lambda tree: tree.update(change))
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
def test_a_state_of_another_width_than_said(size: int, log: Path) -> None:
    """The feature's shape and the table disagree: both numbers are given."""
    _edit_json(log / INFO, lambda tree: tree["features"]["observation.state"].update(shape=[size], names=None))
    (log / "meta" / "gemel.toml").unlink()
    assert inspect_log(log)[0] == 1
    assert re.search(rf"\[unreadable-episode\] episode 3: .*36 numbers for 12 rows of width {size}", _said(log))


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
    _edit_table(log / EPISODES, _with_column(column, values))
    code, text = inspect_log(log)
    assert code == 2
    assert re.search(message, text), text
    assert EPISODES in text


@pytest.mark.parametrize("column", ["episode_index", "length", "data/file_index", f"videos/{KEY}/from_timestamp"])
def test_an_episode_list_without_a_column(column: str, log: Path) -> None:
    """The missing column is named."""
    _edit_table(log / EPISODES, lambda table: table.drop_columns([column]))
    _refused(log, 2, rf"lacks the columns \['{column}'\]")


def test_a_column_twice(log: Path) -> None:
    """Which of the two would be right?"""
    _edit_table(log / DATA, lambda table: table.append_column("timestamp", table["timestamp"]))
    _refused(log, 1, r"has the columns \['timestamp'\] more than once")


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
    _edit_table(log / DATA, _with_column(column, values))
    assert inspect_log(log)[0] == code
    assert bool(ingest_log(log, log.parent / "project")) is bool(code)


def test_a_data_table_without_rows(log: Path) -> None:
    """All episodes are missing, and each is said to be."""
    _edit_table(log / DATA, lambda table: table.slice(0, 0))
    _refused(log, 1, *(rf"\[missing-episode\] episode {i}" for i in range(4)))


def test_an_episode_list_without_rows(log: Path) -> None:
    """No episodes at all: ingest has nothing to take in."""
    _edit_table(log / EPISODES, lambda table: table.slice(0, 0))
    assert inspect_log(log)[0] == 0
    assert "has no episodes" in ingest_log(log, log.parent / "project")


def test_features_that_are_not_taken_in_are_listed(log: Path) -> None:
    """Depth, images inside tables and matrices are noted, so that nobody waits for them."""
    extra = {
        "observation.images.depth": {"dtype": "video", "shape": [4, 4, 1], "info": {"is_depth_map": True}},
        "observation.image": {"dtype": "image", "shape": [4, 4, 3]},
    }
    _edit_json(log / INFO, lambda tree: tree["features"].update(extra))
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
