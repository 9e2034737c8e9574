"""Errors of tracks: none for a track that only differs by its gauges, and the right size for one that is off."""

import numpy as np
import pytest

pytest.importorskip("scipy")

from gemel.artifacts.track import Track
from gemel.benchmarks.track_error import track_error
from gemel.geometry import SE3, SO3
from gemel.geometry.se3 import stack
from gemel.worlds.truth import EpisodeTruth

TIMES_S = np.arange(30) * 0.1


def _truth() -> EpisodeTruth:
    yaw = 0.9 * np.sin(TIMES_S)
    poses = [
        SE3(SO3.exp(np.array([0.0, 0.0, a])), np.array([0.4 + 0.05 * t, 0.03 * np.sin(2.0 * t), 0.02]))
        for a, t in zip(yaw, TIMES_S, strict=True)
    ]
    zeros = np.zeros(30)
    return EpisodeTruth(TIMES_S, stack(poses), np.zeros((30, 1)), zeros, zeros, float("nan"), None, ())


def _track(poses: SE3, sigma: float) -> Track:
    return Track("1", "block", TIMES_S, poses, np.tile(sigma**2 * np.eye(6), (30, 1, 1)), np.zeros(30, dtype=bool))


def test_gauges_are_free():
    """Another world frame and another object frame cost nothing."""
    truth = _truth()
    world = SE3.exp(np.array([0.01, -0.02, 0.005, 0.01, 0.02, -0.03]))
    frame = SE3.exp(np.array([0.002, 0.01, 0.0, 0.0, 0.1, 1.5]))
    error = track_error([_track(world @ truth.Ts_world_object @ frame, 1e-3)], [truth])
    assert error.position_mm.max() < 1e-3
    assert error.rotation_deg.max() < 1e-3
    assert error.is_covered.all()


def test_what_gauges_cannot_explain_is_error():
    """Jumps of 1 mm from frame to frame stay, and intervals of a tenth of that do not cover them."""
    truth = _truth()
    shift = np.where(np.arange(30)[:, None] % 2 == 0, 1e-3, -1e-3) * np.array([1.0, 0.0, 0.0])
    poses = SE3(truth.Ts_world_object.rotation, truth.Ts_world_object.translation + shift)
    error = track_error([_track(poses, 1e-4)], [truth])
    assert error.position_mm.mean() == pytest.approx(1.0, abs=0.1)
    assert error.is_covered[:, 0].mean() < 0.1
