"""Smoothing: exact on linear motion, honest about cameras' clocks, wide where nothing was seen."""

import numpy as np
import pytest

pytest.importorskip("torch")

from gemel.services.tracking.evidence import Evidence, moved
from gemel.services.tracking.refine import FramePose
from gemel.services.tracking.smoother import MotionModel, smooth

TIMES_S = np.arange(40) * 0.1
DELAYS_S = np.array([-0.02, 0.02])
SIGMA = np.array([1e-3, 1e-3, 1e-3, 0.01, 0.01, 0.01])


def _motion() -> tuple[np.ndarray, np.ndarray]:
    """At rest, then moving and turning at constant speed from 1.5 s on, then at rest from 3 s on; with velocities."""
    speed = np.array([0.1, -0.05, 0.0, 0.0, 0.0, 0.4])
    moving_s = np.clip(TIMES_S - 1.5, 0.0, 1.5)
    start = np.eye(4)
    start[:3, 3] = 0.4, 0.1, 0.02
    poses = np.stack([moved(start, speed * t) for t in moving_s])
    return poses, np.where(((TIMES_S > 1.5) & (TIMES_S < 3.0))[:, None], speed, 0.0)


def _measured(seed: int, lost: range = range(0)) -> tuple[list[FramePose | None], np.ndarray, np.ndarray]:
    """What two cameras of different clocks say, with noise; frame poses took the object to stand still."""
    rng = np.random.default_rng(seed)
    true, velocities = _motion()
    found: list[FramePose | None] = []
    for t, (T, velocity) in enumerate(zip(true, velocities, strict=True)):
        if t in lost:
            found.append(None)
            continue
        at = moved(T, 0.3 * SIGMA * rng.standard_normal(6))
        H = np.diag(1.0 / SIGMA**2)
        offset = np.concatenate([T[:3, 3] - at[:3, 3], np.zeros(3)])
        offset[3:] = 0.5 * np.array(
            [(T[:3, :3] @ at[:3, :3].T - (T[:3, :3] @ at[:3, :3].T).T)[i, j] for i, j in ((2, 1), (0, 2), (1, 0))]
        )
        seen = [offset + delay * velocity + SIGMA * rng.standard_normal(6) for delay in DELAYS_S]
        evidence = tuple(Evidence(H, H @ step, 0.02, 500, 500) for step in seen)
        found.append(FramePose(at, np.zeros(6), evidence, (np.zeros((6, 6)), np.zeros(6))))
    references = np.stack([true[0] if pose is None else pose.T_world_object for pose in found])
    for t in lost:
        references[t] = references[t - 1]
    return found, references, true


def test_smoothing_beats_single_frames_and_keeps_corners():
    """Errors at rest fall below a single frame's; where motion begins and ends they do not grow."""
    errors = []
    for seed in range(5):
        found, references, true = _measured(seed)
        smoothed = smooth(TIMES_S, found, references, DELAYS_S, MotionModel(jitter_s=1e-6))
        errors.append(np.linalg.norm(smoothed.Ts_world_object[:, :3, 3] - true[:, :3, 3], axis=1))
    single = np.sqrt(3.0 / 2.0) * SIGMA[0]
    mean = np.mean(errors, axis=0)
    assert np.mean(mean[2:13]) < 0.6 * single
    assert mean.max() < 2.0 * single


def test_velocity_makes_up_for_the_clocks():
    """Cameras 40 ms apart on a moving object: the smoothed velocity is right, and so is the pose between them."""
    found, references, true = _measured(9)
    smoothed = smooth(TIMES_S, found, references, DELAYS_S, MotionModel(jitter_s=1e-6))
    np.testing.assert_allclose(smoothed.velocities[22, :2], [0.1, -0.05], atol=0.02)
    assert np.linalg.norm(smoothed.Ts_world_object[22, :3, 3] - true[22, :3, 3]) < 2e-3


def test_lost_frames_are_bridged_and_unsure():
    """Through six lost frames of straight motion the pose goes on, with a covariance that says so."""
    found, references, true = _measured(2, lost=range(19, 25))
    smoothed = smooth(TIMES_S, found, references, DELAYS_S, MotionModel(jitter_s=1e-6))
    gap_m = np.linalg.norm(smoothed.Ts_world_object[22, :3, 3] - true[22, :3, 3])
    sigma = np.sqrt(smoothed.covariances[:, 0, 0])
    assert gap_m < 8e-3
    assert sigma[22] > 2.0 * sigma[10]
    assert gap_m < 4.0 * np.sqrt(np.trace(smoothed.covariances[22, :3, :3]))


def test_covariance_covers():
    """At rest, 90 % intervals of the smoothed poses hold at least the share that 20 runs allow."""
    inside = []
    for seed in range(20):
        found, references, true = _measured(100 + seed)
        smoothed = smooth(TIMES_S, found, references, DELAYS_S, MotionModel(jitter_s=1e-6))
        error = smoothed.Ts_world_object[7, :3, 3] - true[7, :3, 3]
        inside.append(np.abs(error) <= 1.645 * np.sqrt(np.diag(smoothed.covariances[7])[:3]))
    assert np.mean(inside) > 0.9 - 2.0 * np.sqrt(0.09 / 60)


def test_irregular_times_are_taken_as_they_are():
    """A track over a gap in time is smooth on both sides of it."""
    found, references, true = _measured(4)
    keep = np.array([t for t in range(40) if not 5 <= t < 12])
    smoothed = smooth(TIMES_S[keep], [found[t] for t in keep], references[keep], DELAYS_S, MotionModel(jitter_s=1e-6))
    assert np.linalg.norm(smoothed.Ts_world_object[5, :3, 3] - true[12, :3, 3]) < 2e-3
