"""The plain folder: what docs/formats.md shows is read, and what is wrong with a folder is said by name."""

import re
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.capture import EpisodeKind
from gemel.artifacts.finding import Finding
from gemel.errors import ConfigError, GemelError, SourceError
from gemel.services.formats.image_file import encode_png
from gemel.services.formats.raw_images import raw_images
from gemel.services.formats.source import RawEpisode, RawImages, Source, open_source

DOCUMENT = Path(__file__).parents[3] / "docs" / "formats.md"


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The example of docs/formats.md, written out."""
    toml = next(block for block in _blocks("toml") if "[capture]" in block)
    (tmp_path / "capture.toml").write_text(toml, encoding="utf-8")
    named, unnamed = _blocks("csv")
    for name, steps in (("look_around", unnamed), ("push_01", named)):
        episode = tmp_path / "episodes" / name
        (episode / "front").mkdir(parents=True)
        (episode / "steps.csv").write_text(steps, encoding="utf-8")
        for i in range(3):
            image = np.full((48, 64, 3), 50 * i, dtype=np.uint8)
            (episode / "front" / f"{i:03d}.png").write_bytes(encode_png(image))
    return tmp_path


def _read(root: Path) -> tuple[Source, list[RawEpisode], list[Finding]]:
    findings: list[Finding] = []
    source = open_source(root)
    source.check_files(findings.append)
    return source, list(source.episodes(findings.append)), findings


def _problems(root: Path) -> str:
    try:
        return "\n".join(f"{f.place}: {f.message} {f.remedy}" for f in _read(root)[2])
    except GemelError as error:
        return str(error)


def test_the_documented_example_is_complete(root: Path) -> None:
    """Two episodes, joints with units, a calibrated camera, a rate from the time stamps, no findings."""
    source, episodes, findings = _read(root)
    layout = source.layout
    assert findings == []
    assert layout.joint_names == ("shoulder", "gripper")
    assert layout.action_names == ("shoulder",)
    assert layout.declared_scales["shoulder"].unit == "deg"
    assert layout.rate_hz == pytest.approx(10.0)
    assert layout.cameras[0].is_calibrated
    assert [e.id for e in episodes] == ["look_around", "push_01"]
    assert [e.kind for e in episodes] == [EpisodeKind.SCAN, EpisodeKind.TASK]
    assert (episodes[1].task, episodes[1].object, episodes[1].is_success) == ("push the cube", "cube", True)


def test_numbers_and_images_of_the_example(root: Path) -> None:
    """Values are as in the CSV; a step without an image stays without one and shifts no other."""
    source, (_, push), _ = _read(root)
    assert push.state.tolist() == [[0.0, 100.0], [1.5, 90.0], [3.0, 80.0]]
    assert push.action.tolist() == [[1.5], [3.0], [3.0]]
    (stream,) = push.streams
    assert isinstance(stream, RawImages)
    assert stream.paths == ("episodes/push_01/front/000.png", "", "episodes/push_01/front/002.png")
    frames = list(raw_images(source.root, stream, push.times_s, [0, 1, 2]))
    assert [(step, int(image[0, 0, 0])) for step, image in frames] == [(0, 0), (2, 100)]
    assert "episodes/push_01/front/002.png" in source.files()


def test_images_in_order_of_name_where_the_csv_names_none(root: Path) -> None:
    """One image per row, sorted."""
    _, (look, _), _ = _read(root)
    (stream,) = look.streams
    assert isinstance(stream, RawImages)
    assert stream.paths == tuple(f"episodes/look_around/front/{i:03d}.png" for i in range(3))


def test_spreadsheets_mark_and_odd_slashes_do_no_harm(root: Path) -> None:
    """A byte-order mark before the header, `./` and doubled slashes in image names."""
    path = root / "episodes" / "push_01" / "steps.csv"
    text = path.read_text().replace("front/000.png", ".//front/000.png")
    path.write_text("\ufeff" + text, encoding="utf-8")
    _, (_, push), findings = _read(root)
    assert findings == []
    assert push.streams[0].paths[0] == "episodes/push_01/front/000.png"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("time_s", "time", r"episode push_01: .*steps.csv lacks the columns \['time_s'\]"),
        ("0.1,1.5", "0.1,fast", "holds text where a number belongs: .*'fast'"),
        ("0.1,1.5", "0.1,1.5,9", r"has rows of \[5, 6\] fields"),
        ("time_s,shoulder", "time_s,time_s", "names two columns alike"),
        ("front/002.png", "front/009.png", "009.png is missing"),
        ("front/002.png", "../../../x.png", "leads out of its folder"),
        ("front/002.png", "/etc/passwd", "etc/passwd is missing"),
        ("front/002.png", "steps.csv", "neither PNG nor JPEG"),
    ],
)
def test_wrong_csv(before: str, after: str, message: str, root: Path) -> None:
    """Each mistake is a finding of its episode, with the file's name."""
    path = root / "episodes" / "push_01" / "steps.csv"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    assert re.search(message, _problems(root)), _problems(root)


@pytest.mark.parametrize("data", [b"", b"\xff\xff", b"time_s\n", b"\0\0\0", b'a,"b\n1,2', b"a" * 200_000])
def test_damaged_csv(data: bytes, root: Path) -> None:
    """Empty, not text, without rows, with an open quote, with an endless field: one finding that names the file."""
    (root / "episodes" / "push_01" / "steps.csv").write_bytes(data)
    assert re.search(r"episode push_01: .*steps\.csv", _problems(root)), _problems(root)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[joints.gripper]", "[joints.griper]", r"\[joints\]: 'griper' is unknown. Closest: 'gripper'"),
        ("[episodes.push_01]", "[episodes.push_1]", r"\[episodes\]: 'push_1' is unknown. Closest: 'push_01'"),
        ("width = 64", "width = 65", "is 64x48; .* says 65x48"),
        ("width = 64", 'width = "64"', "width is '64', not int"),
        ("[capture]", "[captur]", "Closest: 'capture'"),
        ('kind = "scan"', 'kind = "skan"', "'skan' is unknown. Closest: 'scan'"),
        ('joints = ["shoulder", "gripper"]', 'joints = "shoulder"', "joints is 'shoulder', not a list"),
        ('robot_type = "planar"', 'robot_model = "../robot.xml"', "leads out of its folder"),
        ("[cameras.front]", '[cameras."../../front"]', "leads out of its folder"),
    ],
)
def test_wrong_toml(before: str, after: str, message: str, root: Path) -> None:
    """Misspelt names and wrong types are named with the closest match."""
    path = root / "capture.toml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    assert re.search(message, _problems(root)), _problems(root)


def test_a_folder_without_episodes(tmp_path: Path) -> None:
    """The message says where they belong."""
    (tmp_path / "capture.toml").write_text("[capture]\n")
    with pytest.raises(SourceError, match="holds no episode folders") as caught:
        open_source(tmp_path)
    assert "episodes/<name>/" in caught.value.remedy


def test_a_folder_of_nothing_known(tmp_path: Path) -> None:
    """What was looked for, and where to point instead; the same for a path that is not there."""
    with pytest.raises(SourceError, match=r"not a log that Gemel can read.*LeRobot v3\.0"):
        open_source(tmp_path)
    with pytest.raises(SourceError, match="There is nothing at"):
        open_source(tmp_path / "none")


def test_a_missing_image_folder(root: Path) -> None:
    """Fewer images than rows is said with both numbers."""
    (root / "episodes" / "look_around" / "front" / "002.png").unlink()
    assert re.search("holds 2 images for 3 rows", _problems(root))


def test_a_camera_table_without_a_table(root: Path) -> None:
    """`cameras.front = 3` is refused, not stumbled over."""
    (root / "capture.toml").write_text("[capture]\n[cameras]\nfront = 3\n")
    with pytest.raises(ConfigError, match=r"\[cameras.front\] must be a table, not 3"):
        _ = open_source(root).layout
