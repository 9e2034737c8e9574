from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.capture import Capture, EpisodeKind, VideoSegment
from gemel.artifacts.robot import RobotJoint, RobotModel
from gemel.errors import ConfigError, LeakageError, SourceError
from gemel.services.formats.calibration import JointScale
from gemel.services.formats.frames import CaptureFrames
from gemel.services.formats.source import open_source
from gemel.stages.ingest.config import IngestConfig
from gemel.stages.ingest.stage import ingest
from gemel.store.store import Store
from gemel.worlds.waving_arm import WavingArm, write_log


def _ingest(log: Path, store: Store, config: IngestConfig | None = None, robot: RobotModel | None = None) -> Capture:
    source = open_source(log)
    hashes = store.hash_files([log / name for name in source.files()])
    return ingest(
        source, config or IngestConfig(), robot=robot, source_hash="00",
        hash_from_file={p.relative_to(log).as_posix(): digest for p, digest in hashes.items()}, blobs=store,
    )[0]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def _frames(capture: Capture, log: Path, store: Store) -> CaptureFrames:
    return CaptureFrames(
        capture, source_root=log, blobs=store, grant=lambda record, what: None,
        hash_of=lambda path: store.hash_files([path])[path],
    )  # fmt: skip


def test_numbers_become_si_units(waving_log: Path, store: Store) -> None:
    """Degrees become radians and percent a fraction, exactly, for joints and for actions of the same name."""
    capture = _ingest(waving_log, store)
    raw = next(iter(open_source(waving_log).episodes(print)))
    episode = _frames(capture, waving_log, store).episode("0")
    np.testing.assert_allclose(episode.joint_positions[:, :2], np.radians(raw.state[:, :2]), rtol=1e-15)
    np.testing.assert_allclose(episode.joint_positions[:, 2], raw.state[:, 2] / 100.0, rtol=1e-15)
    np.testing.assert_allclose(episode.actions[:, 0], np.radians(raw.action[:, 0]), rtol=1e-15)
    assert [joint.unit for joint in capture.joints] == ["rad", "rad", "fraction"]
    assert capture.action_units == ("rad", "rad", "fraction")


def test_videos_stay_where_they_are(waving_log: Path, store: Store) -> None:
    """The capture refers to video by path, hash and time; the store grows by numbers only."""
    capture = _ingest(waving_log, store)
    segments = [s for record in capture.episodes for s in record.streams]
    assert all(isinstance(s, VideoSegment) and (waving_log / s.file.path).exists() for s in segments)
    stored = sum(store.objects.path(a).stat().st_size for a in store.objects.addresses())
    assert stored < 40_000


def test_where_the_log_lies_does_not_matter(waving_log: Path, tmp_path: Path) -> None:
    """The same bytes in another folder are the same capture."""
    import shutil

    moved = tmp_path / "elsewhere"
    shutil.copytree(waving_log, moved)
    first, second = Store(tmp_path / "a"), Store(tmp_path / "b")
    from gemel.store.codec import encode

    assert encode(_ingest(waving_log, first), {}) == encode(_ingest(moved, second), {})


def test_a_unit_that_nobody_gave_stops_ingest(tmp_path: Path, store: Store) -> None:
    """Without a declared or confirmed unit nothing is ingested, and the message says where to put it."""
    log = write_log(tmp_path / "log", WavingArm(episode_count=2, step_count=10))
    with pytest.raises(ConfigError, match=r"no unit for \['shoulder.pos', 'elbow.pos', 'gripper.pos'\].*\n.*--units"):
        _ingest(log, store)
    unconfirmed = IngestConfig(
        joints={n: JointScale("deg", confirmed=False) for n in ("shoulder.pos", "elbow.pos", "gripper.pos")}
    )
    with pytest.raises(ConfigError, match="unconfirmed unit"):
        _ingest(log, store, unconfirmed)
    assert store.objects.addresses() == []


def test_a_scan_is_known_by_its_task_or_by_the_project(waving_log: Path, store: Store) -> None:
    """`scan …` tasks are scans; twin.toml may name more."""
    kinds = [e.kind for e in _ingest(waving_log, store, IngestConfig(scan_episodes=("3",))).episodes]
    assert [i for i, kind in enumerate(kinds) if kind is EpisodeKind.SCAN] == [0, 3]


def test_fingerprints_tell_episodes_apart_and_copies_together(waving_log: Path, store: Store) -> None:
    """Different episodes differ; the same episode read under other units is still the same evidence."""
    plain = _ingest(waving_log, store)
    other_units = IngestConfig(
        joints={"shoulder.pos": JointScale("rad"), "elbow.pos": JointScale("rad"), "gripper.pos": JointScale("percent")}
    )
    read_otherwise = _ingest(waving_log, store, other_units)
    prints = [e.fingerprint for e in plain.episodes]
    assert len(set(prints)) == len(prints)
    assert [e.fingerprint for e in read_otherwise.episodes] == prints


def test_a_model_without_the_logged_joints_is_refused_with_the_way_out(waving_log: Path, store: Store) -> None:
    """The message names the joint, what the model has, and the key that maps one to the other."""
    robot = RobotModel("arm", "mjcf", "a.xml", {}, (RobotJoint("pan", "hinge"), RobotJoint("lift", "hinge")), ())
    with pytest.raises(ConfigError, match=r"no joint for the logged 'shoulder.pos'.*pan.*\n.*model_joint"):
        _ingest(waving_log, store, robot=robot)


def test_joints_are_mapped_to_the_model(waving_log: Path, store: Store) -> None:
    """`.pos` is taken off; other names are mapped by twin.toml."""
    robot = RobotModel(
        "arm", "mjcf", "a.xml", {},
        (RobotJoint("shoulder", "hinge"), RobotJoint("elbow", "hinge"), RobotJoint("jaw", "slide")), (),
    )  # fmt: skip
    config = IngestConfig(joints={"gripper.pos": JointScale("percent", model_joint="jaw")})
    capture = _ingest(waving_log, store, config, robot)
    assert [joint.model_joint for joint in capture.joints] == ["shoulder", "elbow", "jaw"]


def test_frames_are_those_of_the_episode(waving_log: Path, store: Store) -> None:
    """Frames come by seeking, in any order, and equal those decoded one after another."""
    frames = _frames(_ingest(waving_log, store), waving_log, store)
    in_order = list(frames.images("2", "wrist", range(24)))
    for step in (17, 3, 23, 0, 4, 16):
        np.testing.assert_array_equal(frames.image("2", "wrist", step), in_order[step])
    assert in_order[0].shape == (72, 96, 3)


def test_a_video_that_changed_since_ingest_is_refused(waving_log: Path, tmp_path: Path, store: Store) -> None:
    """Frames are only taken from the very bytes that were ingested."""
    import shutil

    log = tmp_path / "log"
    shutil.copytree(waving_log, log)
    capture = _ingest(log, store)
    video = next(log.rglob("*.mp4"))
    video.write_bytes(video.read_bytes() + b"\0\0\0\x08free")
    camera = video.parts[-3].removeprefix("observation.images.")
    with pytest.raises(SourceError, match="changed since it was ingested"):
        _frames(capture, log, store).image("1", camera, 0)


def test_the_grant_is_asked_before_anything_is_read(waving_log: Path, store: Store) -> None:
    """A refused read touches neither the store nor the video."""
    capture = _ingest(waving_log, store)

    def refuse(record: object, what: str) -> None:
        raise LeakageError("no", remedy="no")

    frames = CaptureFrames(
        replace(capture), source_root=Path("does-not-exist"), blobs=store, grant=refuse, hash_of=lambda path: ""
    )
    for read in (
        lambda: frames.episode("1"),
        lambda: frames.image("1", "front", 0),
        lambda: frames.mask("1", "front", 0),
    ):
        with pytest.raises(LeakageError):
            read()
