"""Recordings: readable, the same bytes for a seed, another truth for another seed, nothing left behind."""

from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.capture import EpisodeKind
from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.services.formats.robot_model import compile_robot
from gemel.services.formats.source import open_source
from gemel.worlds.record import RecordPlan, record_world, sidecar
from gemel.worlds.scenario import World, WorldConfig
from gemel.worlds.truth import read_truth, truth_folder
from recorded_worlds import Recorded

pytestmark = pytest.mark.slow  # it records: seconds for every capture


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_one_seed_gives_the_same_bytes_with_any_number_of_workers(recorded: Recorded, recorded_again: Recorded) -> None:
    """Every file of dataset and truth is equal, whether one process made it or two."""
    assert _bytes(recorded.folder) == _bytes(recorded_again.folder)
    assert _bytes(truth_folder(recorded.folder)) == _bytes(truth_folder(recorded_again.folder))


def test_another_seed_gives_another_truth(recorded: Recorded, recorded_other: Recorded) -> None:
    """Parameters, cameras and offsets differ, and so do the recorded numbers."""
    one, other = recorded.truth, recorded_other.truth
    assert not set(one.parameters.values()) & set(other.parameters.values())
    assert not np.any(one.joint_offsets == other.joint_offsets)
    first, second = (_bytes(r.folder)["data/chunk-000/file-000.parquet"] for r in (recorded, recorded_other))
    assert first != second


def test_the_capture_begins_with_a_scan_and_reads_back(recorded: Recorded) -> None:
    """The reader finds one scan and the task's episodes, calibrated cameras, units and the robot model."""
    source = open_source(recorded.folder)
    episodes = list(source.episodes(lambda finding: pytest.fail(finding.message)))
    assert [episode.kind for episode in episodes] == [EpisodeKind.SCAN, EpisodeKind.TASK, EpisodeKind.TASK]
    assert all(camera.is_calibrated for camera in source.layout.cameras)
    assert {scale.unit for scale in source.layout.declared_scales.values()} == {"rad", "m"}
    model = compile_robot(recorded.folder / source.layout.robot_model)
    assert {model.joint(i).name for i in range(model.njnt)} >= set(source.layout.joint_names)
    assert episodes[1].object == "t_block"


def test_truth_reads_back_and_fits_the_recording(recorded: Recorded) -> None:
    """Truth has one entry per recorded step; readings differ from true joints by the offsets, noise and play."""
    episodes = list(open_source(recorded.folder).episodes(lambda finding: None))
    for episode, truth in zip(episodes, recorded.truth.episodes, strict=True):
        np.testing.assert_allclose(episode.times_s, truth.times_s, atol=1e-6)
        difference = episode.state - truth.joint_positions - recorded.truth.joint_offsets
        assert np.abs(difference).max() < 0.005
        assert isinstance(truth.Ts_world_object, SE3)


def test_the_truth_is_not_inside_the_dataset(recorded: Recorded) -> None:
    """No file of the dataset is about the truth, and no file names it."""
    files = _bytes(recorded.folder)
    assert not any("truth" in name for name in files)
    assert not any(b"truth" in data for name, data in files.items() if not name.endswith(".mp4"))


def test_what_the_lab_tells_does_not_depend_on_the_seed(recorded: Recorded, recorded_other: Recorded) -> None:
    """Side-car and robot model are the same for every seed, so nothing of the truth can be in them."""
    for name in ("meta/gemel.toml", "meta/robot.xml", "meta/tasks.parquet"):
        assert _bytes(recorded.folder)[name] == _bytes(recorded_other.folder)[name]
    assert sidecar(World(WorldConfig("toss", seed=1)), scan_count=1) == sidecar(
        World(WorldConfig("toss", seed=2)), scan_count=1
    )


def test_a_recording_is_never_written_over_another(recorded: Recorded) -> None:
    """A folder that is not empty is refused, and so are unknown codecs."""
    with pytest.raises(ConfigError, match="exists and is not empty"):
        record_world(WorldConfig("push-t"), recorded.folder, RecordPlan(episodes=1))
    with pytest.raises(ConfigError, match="Closest: 'h264'"):
        record_world(WorldConfig("push-t"), recorded.folder.parent / "new", RecordPlan(codec="h265"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "object_name"), [("push-hammer", ""), ("handover", ""), ("toss", ""), ("scan", "mug")]
)
def test_every_world_can_be_recorded(name: str, object_name: str, tmp_path: Path) -> None:
    """All worlds give a readable capture with their own joints, cameras and truth."""
    config = WorldConfig(name, seed=1, object=object_name, size=(32, 24), sample_count=2)
    sealed = record_world(config, tmp_path / "set", RecordPlan(episodes=1, seconds=0.5, workers=1))
    source = open_source(tmp_path / "set")
    world = World(config)
    assert source.layout.joint_names == world.machine.joint_names
    assert [c.name for c in source.layout.cameras] == [c.name for c in world.camera_guesses]
    assert source.episode_count() == (1 if name == "scan" else 2)
    assert read_truth(sealed).object_name == world.scenario.model.name
