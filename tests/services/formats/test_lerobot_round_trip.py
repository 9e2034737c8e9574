"""A LeRobot v3.0 dataset that Gemel wrote is read back identically, whatever the codec and however it is cut."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.capture import Capture, EpisodeKind
from gemel.artifacts.finding import Finding
from gemel.errors import SourceError
from gemel.services.formats.calibration import JointScale
from gemel.services.formats.frames import CaptureFrames
from gemel.services.formats.lerobot_writer import LerobotSpec, LerobotWriter
from gemel.services.formats.raw_images import raw_images
from gemel.services.formats.source import RawEpisode, RawVideo, Source, open_source
from gemel.stages.ingest.config import IngestConfig
from gemel.stages.ingest.stage import ingest
from services.formats.coded_frames import HEIGHT, WIDTH, coded_frames, number_of
from services.formats.conftest import MemoryBlobs

FPS = 15.0
CAMERAS = ("front", "wrist_cam")
TASKS = ("scan the table", "lege den Würfel auf 'B' / \"C\"; 100 % ", "積む\n上", "", "scan the table")
OBJECTS = ("", "cube", "mug", "", "cube")
LENGTHS = (7, 30, 1, 12, 18)
EXTRAS = {"observation.effort": 3, "next.success": 1}


@dataclass(frozen=True)
class Written:
    """What was written, to compare with."""

    root: Path
    state: list[np.ndarray]
    action: list[np.ndarray]
    extras: list[dict[str, np.ndarray]]
    times_s: list[np.ndarray]


@pytest.fixture(scope="module", params=[("h264", 0), ("av1", 0), ("h264", 100), ("av1", 100)], ids=str)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Five episodes, two cameras, extras; a limit of 0 MB puts each episode into files of its own."""
    codec, limit_mb = request.param
    root = tmp_path_factory.mktemp("lerobot") / "set"
    spec = LerobotSpec(
        fps=FPS, joint_names=("a.pos", "b", "ç"), action_names=("only",), extras=EXTRAS, codec=codec,
        camera_sizes=dict.fromkeys(CAMERAS, (WIDTH, HEIGHT)), robot_type="odd_one", chunks_size=3,
        data_files_size_in_mb=limit_mb, video_files_size_in_mb=limit_mb,
    )  # fmt: skip
    rng = np.random.default_rng(7)
    made = Written(root, [], [], [], [])
    with LerobotWriter(root, spec) as writer:
        for episode, count in enumerate(LENGTHS):
            made.state.append(rng.normal(size=(count, 3)) * 10.0 ** rng.integers(-30, 30, (count, 3)))
            made.action.append(rng.normal(size=(count, 1)))
            made.extras.append({k: rng.integers(0, 2, (count, w)).astype(np.float64) for k, w in EXTRAS.items()})
            steps = np.arange(count) + 4 * (np.arange(count) > count // 2)  # four samples are lost on the way
            made.times_s.append(steps / FPS)
            writer.add_episode(
                task=TASKS[episode], object_name=OBJECTS[episode], state=made.state[-1], action=made.action[-1],
                extras=made.extras[-1], times_s=made.times_s[-1],
                images={c: coded_frames(_first_number(episode, c), count) for c in CAMERAS},
            )  # fmt: skip
    return made


def _first_number(episode: int, camera: str) -> int:
    return 2000 * CAMERAS.index(camera) + sum(LENGTHS[:episode])


def _read(root: Path) -> tuple[Source, list[RawEpisode]]:
    findings: list[Finding] = []
    source = open_source(root)
    source.check_files(findings.append)
    episodes = list(source.episodes(findings.append))
    assert findings == []
    return source, episodes


def _ingest(root: Path, blobs: MemoryBlobs) -> Capture:
    source = open_source(root)
    hashes = {name: _sha256(root / name) for name in source.files()}
    units = IngestConfig(joints={name: JointScale("rad") for name in source.layout.joint_names})
    capture, _ = ingest(source, units, robot=None, source_hash="x", hash_from_file=hashes, blobs=blobs)
    return capture


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_numbers_are_bit_exact(written: Written) -> None:
    """State, action, extras and times come back as the float32 that they were stored as."""
    source, episodes = _read(written.root)
    assert source.layout.joint_names == ("a.pos", "b", "ç")
    assert source.layout.extras == EXTRAS
    assert source.layout.rate_hz == FPS
    assert len(episodes) == source.episode_count() == len(LENGTHS)
    for i, episode in enumerate(episodes):
        for read, expected in (
            (episode.state, written.state[i]),
            (episode.action, written.action[i]),
            (episode.times_s, written.times_s[i]),
            *((episode.extras[k], written.extras[i][k]) for k in EXTRAS),
        ):
            assert np.array_equal(read, expected.astype(np.float32).astype(np.float64))


def test_words_are_kept(written: Written) -> None:
    """Tasks in any script, objects, outcomes, and scans recognised by their task."""
    _, episodes = _read(written.root)
    assert tuple(e.task for e in episodes) == TASKS
    assert tuple(e.object for e in episodes) == OBJECTS
    assert [e.kind for e in episodes] == [EpisodeKind.SCAN, *[EpisodeKind.TASK] * 3, EpisodeKind.SCAN]
    assert [e.is_success for e in episodes] == [bool(x["next.success"][-1, 0]) for x in written.extras]


def test_every_frame_is_the_right_one(written: Written) -> None:
    """Each step of each camera shows its own number, though files hold several episodes and times have gaps."""
    source, episodes = _read(written.root)
    for i, episode in enumerate(episodes):
        for stream in episode.streams:
            frames = raw_images(source.root, stream, episode.times_s, range(LENGTHS[i]))
            numbers = [number_of(image) - _first_number(i, stream.camera) for _, image in frames]
            assert numbers == list(range(LENGTHS[i]))


def test_small_files_are_really_several(written: Written) -> None:
    """With a limit of 0 MB each episode has its own files, three to a chunk; else all share one."""
    _, episodes = _read(written.root)
    paths = [[s.path for s in e.streams if isinstance(s, RawVideo)] for e in episodes]
    data_files = sorted(p.name for p in (written.root / "data").rglob("*.parquet"))
    if len(data_files) == 1:
        assert len({name for names in paths for name in names}) == len(CAMERAS)
    else:
        assert paths[3] == [f"videos/observation.images.{c}/chunk-001/file-000.mp4" for c in CAMERAS]
        assert len(data_files) == len(LENGTHS)


def test_a_capture_reads_the_same(written: Written, blobs: MemoryBlobs) -> None:
    """Through ingest and `CaptureFrames`: the same numbers, and the right frame for random steps of random episodes."""
    capture = _ingest(written.root, blobs)
    frames = CaptureFrames(
        capture, source_root=written.root, blobs=blobs, grant=lambda record, what: None, hash_of=_sha256
    )
    assert np.array_equal(frames.episode("1").joint_positions, written.state[1].astype(np.float32))
    assert np.array_equal(frames.episode("1").extras["next.success"], written.extras[1]["next.success"])
    rng = np.random.default_rng(8)
    for episode in rng.integers(0, len(LENGTHS), 40):
        camera, step = CAMERAS[rng.integers(2)], int(rng.integers(LENGTHS[episode]))
        image = frames.image(str(episode), camera, step)
        assert number_of(image) == _first_number(int(episode), camera) + step
    frames.close()


def test_a_capture_refuses_what_it_does_not_have(written: Written, blobs: MemoryBlobs) -> None:
    """Unknown episodes, cameras and steps are named, with what there is instead; a changed file is noticed."""
    capture = _ingest(written.root, blobs)

    def frames(hash_of: object = _sha256) -> CaptureFrames:
        return CaptureFrames(
            capture, source_root=written.root, blobs=blobs, grant=lambda record, what: None, hash_of=hash_of
        )  # type: ignore[arg-type]

    with pytest.raises(SourceError, match="no episode '9'"):
        frames().episode("9")
    with pytest.raises(SourceError, match=r"'frond' is unknown. Closest: 'front'"):
        frames().image("0", "frond", 0)
    for step in (-1, LENGTHS[0]):
        with pytest.raises(SourceError, match=f"no step {step}"):
            frames().image("0", "front", step)
    with pytest.raises(SourceError, match="has changed since it was ingested"):
        frames(lambda path: "other").image("0", "front", 0)
    assert frames().mask("0", "front", 0) is None


def test_an_exception_leaves_nothing_behind(tmp_path: Path) -> None:
    """A dataset is there whole or not at all, also when the frames run out half-way."""
    spec = LerobotSpec(10.0, ("a",), ("a",), {"c": (WIDTH, HEIGHT)})
    with pytest.raises(ValueError, match="longer"), LerobotWriter(tmp_path / "set", spec) as writer:
        writer.add_episode(task="t", state=np.zeros((5, 1)), action=np.zeros((5, 1)), images={"c": coded_frames(0, 3)})
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SourceError, match="No episode was written"), LerobotWriter(tmp_path / "set", spec):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_writer_never_writes_over_something(written: Written) -> None:
    """A folder with something in it is refused before anything is touched."""
    with pytest.raises(SourceError, match="never written over another"):
        LerobotWriter(written.root, LerobotSpec(10.0, ("a",), ("a",)))


@pytest.mark.parametrize(
    ("state", "times_s", "images", "message"),
    [
        (np.zeros((3, 2)), None, {"c": 3}, r"observation.state': \(3, 2\)"),
        (np.zeros((0, 1)), None, {"c": 0}, "at least one step"),
        (np.zeros((3, 1)), None, {}, r"images of \[\]"),
        (np.zeros((3, 1)), np.array([0.0, 0.2, 0.1]), {"c": 3}, "do not go up from zero"),
        (np.zeros((3, 1)), np.array([0.0, np.nan, 0.1]), {"c": 3}, "do not go up from zero"),
    ],
)
def test_the_writer_refuses_odd_episodes(
    state: np.ndarray, times_s: np.ndarray | None, images: dict[str, int], message: str, tmp_path: Path
) -> None:
    """What the specification does not allow is said with what was expected."""
    spec = LerobotSpec(10.0, ("a",), ("a",), {"c": (WIDTH, HEIGHT)})
    frames = {camera: coded_frames(0, count) for camera, count in images.items()}
    with pytest.raises(SourceError, match=message), LerobotWriter(tmp_path / "set", spec) as writer:
        writer.add_episode(task="t", state=state, action=state[:, :1], images=frames, times_s=times_s)


def test_the_real_dataset_reads_without_a_finding(shared_data: Path) -> None:
    """LeRobot's own writer: six episodes of an SO-101 arm, 1782 frames in one AV1 file."""
    source, episodes = _read(shared_data / "so101_lerobot_v3")
    assert [len(e.times_s) for e in episodes] == [row.length for row in source.rows]  # type: ignore[attr-defined]
    assert sum(len(e.times_s) for e in episodes) == 1782
    last = episodes[-1]
    frames = list(raw_images(source.root, last.streams[0], last.times_s, [0, len(last.times_s) - 1]))
    assert all(image.shape == (360, 640, 3) for _, image in frames)
    assert not [f for f in source.layout.cameras if (f.width, f.height) != (640, 360)]
