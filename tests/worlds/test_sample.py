"""The sample capture that comes with the package: small, complete, readable, and without its truth."""

from pathlib import Path

import numpy as np

import gemel
from gemel.artifacts.capture import EpisodeKind
from gemel.services.formats.source import open_source
from gemel.stages.ingest.inspect import InspectConfig, inspect
from gemel.worlds.scenario import WorldConfig
from gemel.worlds.simulate import EpisodeJob, simulate_episode
from gemel.worlds.truth import read_truth

SAMPLE = Path(gemel.__file__).parent / "samples" / "push_t"
TRUTH = Path(__file__).parents[1] / "data" / "push_t_truth"


def test_the_sample_is_small_and_has_no_truth() -> None:
    """At most 8 MB, and nothing of the sealed truth is in the package."""
    files = [path for path in SAMPLE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 8_000_000
    assert not list(SAMPLE.parent.rglob("*truth*"))


def test_the_sample_has_a_scan_and_fourteen_trials() -> None:
    """One scan and 14 episodes of at most 8 s at 10 Hz, 160x120, two fixed cameras and one on the wrist."""
    source = open_source(SAMPLE)
    episodes = list(source.episodes(lambda finding: None))
    assert [episode.kind for episode in episodes] == [EpisodeKind.SCAN] + 14 * [EpisodeKind.TASK]
    assert all(episode.times_s[-1] <= 8.0 for episode in episodes[1:])
    assert source.layout.rate_hz == 10.0
    assert [(c.width, c.height) for c in source.layout.cameras] == 3 * [(160, 120)]
    assert [c.parent for c in source.layout.cameras] == ["world", "world", "link6"]


def test_inspection_finds_what_the_sample_is_meant_to_show() -> None:
    """No errors; the lag and the lost samples that its world has are found."""
    result = inspect(open_source(SAMPLE), InspectConfig(), robot_joints=None)
    assert not result.has_errors
    assert {"action-lag", "dropped-samples"} <= {finding.code for finding in result.findings}


def test_the_truth_kept_for_tests_belongs_to_the_sample() -> None:
    """Readings of the sample are its true joints plus offsets, play and noise."""
    truth = read_truth(TRUTH)
    episodes = list(open_source(SAMPLE).episodes(lambda finding: None))
    assert len(episodes) == len(truth.episodes)
    for episode, true in zip(episodes, truth.episodes, strict=True):
        assert np.abs(episode.state - true.joint_positions - truth.joint_offsets).max() < 0.005
    moved = [np.linalg.norm(np.ptp(true.Ts_world_object.translation, axis=0)) for true in truth.episodes[1:]]
    assert np.median(moved) > 0.05


def test_the_sample_is_what_the_command_records() -> None:
    """`gemel world push-t --episodes 14 --seed 3` of this version gives the sample's numbers, episode by episode."""
    recorded = {episode.id: episode for episode in open_source(SAMPLE).episodes(lambda finding: None)}
    for index in (0, 1):
        job = EpisodeJob(WorldConfig("push-t", seed=3), index, is_scan=index == 0)
        simulated = simulate_episode(job)
        kept, episode = simulated.is_kept, recorded[str(index)]
        np.testing.assert_allclose(episode.state, simulated.episode.joint_positions[kept], atol=1e-6)
        np.testing.assert_allclose(episode.action, simulated.episode.actions[kept], atol=1e-6)
