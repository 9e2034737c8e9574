"""Cameras' clocks: late ones are found, alone or together, and cameras in time are left alone."""

import numpy as np
import pytest

from gemel.artifacts.finding import Finding
from gemel.stages.ingest.camera_clock import camera_timing
from gemel.stages.ingest.motion import Window, joint_velocity, window

PERIOD_S = 0.1
CAMERAS = ("front", "side", "wrist")


def _joints(rng: np.random.Generator) -> np.ndarray:
    """Six joints over 80 steps of a hundredth of a second each, moving and pausing as an operator does."""
    pace = np.repeat(rng.uniform(0.0, 1.0, 20), 40) * (rng.uniform(size=20) < 0.7).repeat(40)
    pace = np.convolve(pace, np.ones(25) / 25, mode="same")
    heading = np.cumsum(rng.normal(size=(800, 6)), axis=0)
    return np.cumsum(pace[:, None] * (np.sin(0.05 * heading) + 0.3), axis=0)


def _windows(
    seed: int, offsets_s: dict[str, float], *, noise: float, episodes: int = 6
) -> dict[str, dict[str, Window]]:
    """What cameras with these offsets see: image change from joints with weights of their own in every episode.

    `noise` is the part that has nothing to do with the arm, such as the object's motion, relative to the rest.
    """
    rng = np.random.default_rng(seed)
    fine, coarse = np.arange(800) * 0.1 * PERIOD_S, np.arange(10, 790, 10)
    found: dict[str, dict[str, Window]] = {camera: {} for camera in offsets_s}
    for episode in range(episodes):
        joints = _joints(rng)
        at, velocity = joint_velocity(fine[coarse], joints[coarse], np.ptp(joints, axis=0))
        for camera, offset_s in offsets_s.items():
            shown = np.stack([np.interp(fine[coarse] + offset_s, fine, column) for column in joints.T], axis=1)
            seen = np.abs(np.diff(shown, axis=0)) @ rng.uniform(0.0, 1.0, 6)
            stray = np.abs(np.convolve(rng.normal(size=len(seen)), np.ones(3) / 3, mode="same"))
            seen = seen / seen.std() + noise * stray / stray.std()
            part = window(at, np.abs(velocity), at, seen[:, None], period_s=PERIOD_S, max_shift_s=0.6)
            found[camera] |= {str(episode): part} if part else {}
    return found


def _findings(seed: int, offsets_s: dict[str, float], *, noise: float, episodes: int = 6) -> list[Finding]:
    return camera_timing(_windows(seed, offsets_s, noise=noise, episodes=episodes), PERIOD_S)[1]


@pytest.mark.slow
def test_cameras_in_time_are_left_alone() -> None:
    """Of 150 logs of three punctual cameras, from noisy to hardly related pictures, at most 5 % get a complaint."""
    punctual = dict.fromkeys(CAMERAS, 0.0)
    accused = [bool(_findings(seed, punctual, noise=noise)) for noise in (1.0, 1.5, 2.0) for seed in range(50)]
    assert sum(accused) <= 0.05 * len(accused)


def test_late_cameras_are_found_and_timed() -> None:
    """A delay of 0.15 s is reported in at least 38 of 40 logs, and 95 % of the reports are right to 0.05 s."""
    logs = [_findings(seed, dict.fromkeys(CAMERAS, -0.15), noise=1.0) for seed in range(40)]
    assert sum(bool(findings) for findings in logs) >= 38
    values = np.array([finding.value for findings in logs for finding in findings])
    assert np.mean(np.abs(values + 0.15) < 0.05) >= 0.95


def test_three_episodes_prove_together_what_no_camera_proves_alone() -> None:
    """In some short logs only the judgement of all cameras together is sure enough, and it is right to 0.05 s."""
    logs = [_findings(seed, dict.fromkeys(CAMERAS, -0.15), noise=1.0, episodes=3) for seed in range(40)]
    together = [findings[0] for findings in logs if [finding.stream for finding in findings] == ["cameras"]]
    assert len(together) >= 2
    assert all(finding.value == pytest.approx(-0.15, abs=0.05) for finding in together)


def test_one_late_camera_is_not_everybody() -> None:
    """Where one of three cameras is late, it is named alone."""
    for seed in range(10):
        findings = _findings(seed, {"front": -0.3, "side": 0.0, "wrist": 0.0}, noise=0.7)
        assert {finding.stream for finding in findings} == {"front"}
