"""Following an object: start without a hint, loss and return, gaps in the log, and what is said about them."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("numba")
pytest.importorskip("scipy")

from gemel.artifacts.capture import Domain, EpisodeKind
from gemel.artifacts.episode import Episode
from gemel.artifacts.track import Track, Tracks
from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.services.tracking.follower import Target
from gemel.services.tracking.refine import RefineConfig
from gemel.services.tracking.resting import Resting
from gemel.services.tracking.smoother import MotionModel, smooth
from gemel.stages.track.config import TrackConfig
from gemel.stages.track.findings import track_findings
from gemel.stages.track.follow import Followed, follow
from gemel.stages.track.mocap import mocap_tracks
from gemel.stages.track.uncertainty import inflation, track_covariances
from services.tracking import made_views as made

TARGET = Target(made.TRACKED, Resting(made.REST), RefineConfig(), made.RENDERER)
TIMES_S = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.1, 1.2])
HIDDEN = (4, 5)


def _true() -> list[np.ndarray]:
    """Pushed by 8 cm/s and turned; while hidden it is set down elsewhere."""
    jump = np.where(TIMES_S > 0.45, 0.06, 0.0)
    return [made.pose(0.08 * t - 0.03 + j, 0.02 * t, 0.6 * t + 0.3) for t, j in zip(TIMES_S, jump, strict=True)]


@pytest.fixture(scope="module")
def followed() -> Followed:
    scenes = [made.views(T, 20 + k) for k, T in enumerate(_true())]
    scenes = [[made.emptied(v) for v in views] if k in HIDDEN else views for k, views in enumerate(scenes)]
    found = follow(TARGET, scenes, TIMES_S, lambda step: {}, lambda time_s: None)
    assert found is not None
    return found


def test_found_lost_and_found_again(followed: Followed):
    """No start is given; two hidden frames are lost, the object is found at its new place, across a gap too."""
    assert np.flatnonzero(followed.is_lost).tolist() == list(HIDDEN)
    for found, true in zip(followed.poses, _true(), strict=True):
        if found is not None:
            assert np.linalg.norm(found.T_world_object[:3, 3] - true[:3, 3]) < 1e-3


def test_covariance_grows_where_the_object_was_lost(followed: Followed):
    """Smoothed poses of lost frames are far less sure, and lasting errors keep all others from being too sure."""
    smoothed = smooth(TIMES_S, followed.poses, followed.Ts_reference, np.zeros(2), MotionModel())
    growth = inflation(followed.poses, TARGET.resting)
    sigma = np.sqrt(track_covariances(smoothed, followed.poses, growth)[:, 0, 0])
    assert growth >= 1.0
    assert sigma[4] > 2.0 * sigma[2]
    assert sigma[2] > np.sqrt(smoothed.covariances[2, 0, 0])


def test_a_prediction_is_the_start(followed: Followed):
    """With a caller's prediction the first frame needs no search."""
    scenes = [made.views(T, 40 + k) for k, T in enumerate(_true()[:2])]
    truths = dict(zip(TIMES_S, _true(), strict=True))
    held = replace(TARGET, resting=Resting(SE3.exp(np.array([5.0, 5.0, 0.0, 0.0, 0.0, 0.0]))), is_held_down=False)
    found = follow(held, scenes, TIMES_S[:2], lambda step: {}, lambda time_s: SE3.from_matrix(truths[time_s]))
    assert found is not None
    assert not found.is_lost.any()


def test_nothing_is_found_where_nothing_is():
    """An empty table gives no track."""
    assert follow(TARGET, [made.views(None, 60)], TIMES_S[:1], lambda step: {}, lambda time_s: None) is None


def _track(times_s: np.ndarray, is_lost: np.ndarray) -> Track:
    n = len(times_s)
    return Track("7", "block", times_s, SE3.identity(n), np.tile(np.eye(6), (n, 1, 1)), is_lost)


def test_findings_name_lost_stretches_and_gaps():
    """Each lost stretch and the widest gap are said, with where they are."""
    lost = np.zeros(10, dtype=bool)
    lost[[4, 5]] = True
    found = track_findings(_track(TIMES_S, lost))
    assert [finding.code for finding in found] == ["object-lost", "track-gap"]
    assert found[0].value == 2.0
    assert found[1].time_s == pytest.approx(0.7)
    assert track_findings(_track(TIMES_S[:8], lost[:8] & False)) == ()


def test_bad_tracks_are_refused():
    """Times that do not rise or counts that differ are no track; gaps are."""
    with pytest.raises(ConfigError, match="rise"):
        _track(np.array([0.0, 0.2, 0.1]), np.zeros(3, dtype=bool))
    with pytest.raises(ConfigError, match=r"\(3,\) poses"):
        Track("7", "block", np.array([0.0, 0.2]), SE3.identity(3), np.zeros((2, 6, 6)), np.zeros(2, dtype=bool))
    gappy = _track(TIMES_S, np.zeros(10, dtype=bool))
    assert gappy.longest_gap_s == pytest.approx(0.4)
    assert Tracks((gappy,), "video").of("7", "block") is gappy


def test_motion_capture_passes_through():
    """Logged poses come out as they are, with the given sigma about the object's origin."""
    poses = SE3.random(np.random.default_rng(0), 4)
    episode = Episode(
        id="3", kind=EpisodeKind.TASK, domain=Domain.REAL, task="push", times_s=np.arange(4) * 0.1,
        joint_positions=np.zeros((4, 0)), actions=np.zeros((4, 0)), object_poses={"block": poses},
    )  # fmt: skip
    (track,) = mocap_tracks(episode, TrackConfig(source="mocap", mocap_position_sigma_m=0.002))
    np.testing.assert_array_equal(track.Ts_world_object.as_matrix(), poses.as_matrix())
    assert not track.is_lost.any()
    turned = track.covariances[:, 3:, 3:]
    np.testing.assert_allclose(turned, np.tile(0.005**2 * np.eye(3), (4, 1, 1)), atol=1e-12)
    with pytest.raises(ConfigError, match="not positive"):
        TrackConfig(mocap_position_sigma_m=0.0)
    with pytest.raises(ConfigError, match="every = 0"):
        TrackConfig(every=0)
