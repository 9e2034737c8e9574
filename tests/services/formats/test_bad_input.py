"""Each kind of bad input gets one clear error or finding (what, where, what to do), and nothing half-written stays."""

import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa  # noqa: TID253 (to damage tables on purpose)
import pytest

from gemel.cli import main
from services.formats.coded_frames import write_coded_video
from services.formats.damage import DATA, EPISODES, INFO, assert_refused, edit_json, edit_table, with_column
from services.formats.mutations import VIDEO, ingest_log, inspect_log


def test_truncated_parquet(log: Path) -> None:
    """Names the table, says that it is damaged, and to copy it again."""
    data = (log / DATA).read_bytes()
    (log / DATA).write_bytes(data[: len(data) // 2])
    assert_refused(log, 1, rf"\[unreadable-table\] episode 0-3: The table .*{DATA} cannot be read", "copy it again")


def test_truncated_episode_list(log: Path) -> None:
    """Without the list nothing can be read: exit code 2."""
    data = (log / EPISODES).read_bytes()
    (log / EPISODES).write_bytes(data[:-100])
    assert_refused(log, 2, rf"The table .*{EPISODES} cannot be read", "copy it again")


def test_truncated_mp4(log: Path) -> None:
    """Names the video, the episodes that need it and the camera."""
    path = log / VIDEO.format("front")
    path.write_bytes(path.read_bytes()[:-200])
    assert_refused(
        log, 1, r"\[unreadable-video\] episode 0-3 · front: The video .*file-000.mp4", "cut off", "copy it again"
    )


def test_video_shorter_than_its_table(log: Path) -> None:
    """Says when the video ends, when the episode needs it, and from which moment frames are missing."""
    write_coded_video(log / VIDEO.format("wrist"), np.arange(30) / 10.0, fps=10.0)
    edit_json(log / INFO, lambda t: t["features"]["observation.images.wrist"].update(shape=[48, 64, 3]))
    assert_refused(
        log, 1,
        r"\[video-too-short\] episode 2 · wrist · 0.50 s: The last frame of .* is at 2.90 s; episode 2 needs .* 3.50 s",
        r"\[video-too-short\] episode 3", r"\[video-frames-missing\] .*30 frames for 48 rows", "copy both again",
    )  # fmt: skip


def test_video_one_frame_short(log: Path) -> None:
    """One missing frame at the end is enough."""
    write_coded_video(log / VIDEO.format("wrist"), np.arange(47) / 10.0, fps=10.0)
    edit_json(log / INFO, lambda t: t["features"]["observation.images.wrist"].update(shape=[48, 64, 3]))
    assert_refused(log, 1, r"\[video-too-short\] episode 3 · wrist · 1.00 s")


def test_video_of_another_size(log: Path) -> None:
    """Intrinsics depend on the size, so a video that differs from info.json is refused."""
    write_coded_video(log / VIDEO.format("wrist"), np.arange(48) / 10.0, fps=10.0)
    assert_refused(log, 1, r"\[video-size\] wrist: .*file-000.mp4 is 64x48; meta/info.json says 96x72")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None])
@pytest.mark.parametrize("name", ["observation.state", "action"])
def test_numbers_that_are_not_finite(name: str, value: float | None, log: Path) -> None:
    """NaN, infinite and missing numbers: which joint, which episode, which row."""

    def damage(rows: list[list[float]]) -> pa.Array:
        rows[17] = None if value is None else [rows[17][0], value, rows[17][2]]  # type: ignore[call-overload]
        return pa.array(rows, pa.list_(pa.float32(), 3))

    edit_table(log / DATA, with_column(name, damage))
    what = "shoulder.pos" if value is None else "elbow.pos"
    assert_refused(log, 1, rf"episode 1\s.*{what}", "not-finite", "first in\\s.*row", "made-up")


def test_a_missing_data_file(log: Path) -> None:
    """Names the file and the episodes that were in it."""
    (log / DATA).unlink()
    assert_refused(log, 1, rf"\[unreadable-table\] episode 0-3: The table .*{DATA} is missing", "copy it back")


def test_a_missing_video(log: Path) -> None:
    """Names the file, the camera and the episodes."""
    (log / VIDEO.format("front")).unlink()
    assert_refused(log, 1, r"\[unreadable-video\] episode 0-3 · front: The video .* is missing", "copy it back")


def test_an_episode_without_rows(log: Path) -> None:
    """The list names an episode that the data lack."""
    edit_table(log / DATA, lambda table: table.slice(0, 36))
    assert_refused(
        log, 1, r"\[missing-episode\] episode 3: Episode 3 is listed in meta/episodes but has no rows in .*parquet"
    )


def test_rows_without_an_episode(log: Path) -> None:
    """The data hold an episode that the list lacks."""
    edit_table(log / EPISODES, lambda table: table.slice(0, 3))
    assert_refused(log, 1, r"\[unlisted-episode\] episode 3: .*holds rows of episode 3")


def test_an_episode_cut_short(log: Path) -> None:
    """Fewer rows than the list says."""
    edit_table(log / DATA, lambda table: table.slice(0, 45))
    assert_refused(log, 1, r"\[length-mismatch\] episode 3: Episode 3 has 9 rows; meta/episodes says 12")


def test_an_episode_in_pieces(log: Path) -> None:
    """Rows of one episode that come back after another's."""
    edit_table(log / DATA, lambda table: pa.concat_tables([table, table.slice(0, 5)]))
    assert_refused(log, 1, r"\[unlisted-episode\] episode 0: .*come in several pieces")


def test_an_episode_listed_twice(log: Path) -> None:
    """Two rows for one episode leave open which is right."""
    edit_table(log / EPISODES, lambda table: pa.concat_tables([table, table.slice(2, 1)]))
    assert_refused(log, 2, "meta/episodes lists episode 2 2 times", "restore meta/episodes")


def test_lying_counters_are_reported_and_not_believed(log: Path) -> None:
    """A warning with both numbers; the log is taken in by its files."""
    edit_json(log / INFO, lambda tree: tree.update(total_episodes=50, total_frames=-3))
    code, text = inspect_log(log)
    assert code == 0
    assert re.search(r"total_episodes 50; the\s.*episode list has 4", text, re.DOTALL)
    assert ingest_log(log, log.parent / "project") == ""


def test_unknown_codec(log: Path) -> None:
    """A tag that no decoder knows: re-encode."""
    path = log / VIDEO.format("front")
    path.write_bytes(path.read_bytes().replace(b"avc1", b"zzz1"))
    assert_refused(log, 1, r"\[unreadable-video\] episode 0-3 · front: The codec of .*mp4 is unknown", "re-encode")


@pytest.mark.parametrize("template", ["../{file_index:03d}.parquet", "/etc/{file_index}.parquet", "{video_key}"])
def test_data_path_out_of_the_folder(template: str, log: Path) -> None:
    """A template that leads out, or that cannot be filled."""
    edit_json(log / INFO, lambda tree: tree.update(data_path=template))
    assert_refused(log, 1, r"\[unreadable-table\] episode 0-3: (The log names the path|The path template)", "correct")


@pytest.mark.parametrize(
    "template", ["../{video_key}.mp4", "/tmp/{video_key}", "{chunk_index.real}", "{chunk_index:09999999d}"]
)
def test_video_path_out_of_the_folder(template: str, log: Path) -> None:
    """The same for videos: a finding per episode and camera."""
    edit_json(log / INFO, lambda tree: tree.update(video_path=template))
    assert_refused(log, 1, r"\[bad-path\] episode 0 · front: (The log names the path|The path template)", "correct")


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
    assert_refused(
        log, 1 if relative in (DATA, VIDEO.format("wrist")) else 2, rf"{relative} has 0 bytes", "copy it again"
    )


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
    assert main(["inspect", str(log), "--robot", str(model)]) == 0
    (log / "meta" / "robot.xml").write_text(ROBOT.format("knee"))
    with (log / "meta" / "gemel.toml").open("a") as file:
        file.write('\n[robot]\nmodel = "meta/robot.xml"\n')
    error = ingest_log(log, log.parent / "project")
    assert "The robot model 'robot' has no joint for the logged 'shoulder.pos'. Joints of the model: ['knee']" in error
    assert 'name it in twin.toml: [joints."shoulder.pos"] model_joint' in error


def test_no_robot_at_all(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that leads nowhere is an error of its own; no model given is only noted."""
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
