"""Tossed cubes: the published metric, the tracker's field and the median of rollouts."""

from pathlib import Path

import numpy as np
import pytest

from gemel.benchmarks.cube_toss.bench import bench_cube_toss
from gemel.benchmarks.cube_toss.data import (
    FRAME_S,
    WIDTH_M,
    Tosses,
    position_errors_percent,
    read_tosses,
    rotation_errors_deg,
)
from gemel.benchmarks.cube_toss.model import Cube, _straightened, _swirled, simulate
from gemel.benchmarks.cube_toss.predict import median_place, median_rotation
from gemel.errors import ConfigError, SourceError
from gemel.geometry import SO3

KEYS = {
    "position_percent", "rotation_deg", "baseline_position_percent", "baseline_rotation_deg", "p_position",
    "p_rotation", "coverage95", "interval_score_ratio", "n_test",
}  # fmt: skip


def _toss(frames: int = 12, height: float = 5.0) -> Tosses:
    position = np.tile([0.1, -0.2, height], (1, frames, 1))
    wxyz = np.tile([1.0, 0.0, 0.0, 0.0], (1, frames, 1))
    velocity, angular = np.zeros((1, frames, 3)), np.zeros((1, frames, 3))
    velocity[:, :, 0], angular[:, :, 2] = 0.5, 2.0
    return Tosses(("t",), np.array([frames]), position, wxyz, velocity, angular)


def test_the_metric_is_the_mean_distance_in_widths_and_the_mean_angle() -> None:
    """A shift by a tenth of the width is 10 %, a turn by 30 degrees is 30 degrees, at every frame."""
    toss = _toss()
    shifted = toss.position + np.array([0.0, 0.1 * WIDTH_M, 0.0])
    turned = (SO3.exp(np.tile([0.0, 0.0, np.radians(30.0)], (1, 12, 1))) @ SO3(toss.wxyz)).wxyz
    assert position_errors_percent(shifted, toss) == pytest.approx(10.0)
    assert rotation_errors_deg(-turned, toss) == pytest.approx(30.0)


def test_a_cube_in_flight_falls_and_turns_freely() -> None:
    """Far above the board the rollout is a parabola with the given gravity, at a constant angular velocity."""
    toss = _toss()
    position, wxyz = simulate(toss, Cube.baseline(1), copies=1)
    t = FRAME_S * 11
    expected = toss.position[0, 0] + [0.5 * t, 0.0, -0.5 * 9.81 * t**2]
    assert position[0, 0, -1] == pytest.approx(expected, abs=3e-4)  # one step of explicit Euler is 0.25 mm here
    assert SO3(wxyz[0, 0, -1]).log() == pytest.approx([0.0, 0.0, 2.0 * t], abs=1e-6)


def test_a_cube_at_rest_stays_at_rest() -> None:
    """On the board nothing moves by more than the contact gives way."""
    toss = _toss(60, height=0.5 * WIDTH_M)
    toss.velocity[:], toss.angular[:] = 0.0, 0.0
    position, wxyz = simulate(toss, Cube.baseline(1), copies=1)
    assert np.abs(position[0, 0] - toss.position[0]).max() < 5e-4
    assert rotation_errors_deg(wxyz[0], toss)[0] < 0.05


def test_the_swirl_is_undone() -> None:
    """Places that the tracker reports lead back to the true ones."""
    true = np.random.default_rng(0).uniform(-0.4, 0.4, (50, 2))
    swirl = np.full(50, -0.07)
    assert _straightened(_swirled(true, swirl), swirl) == pytest.approx(true, abs=1e-6)


def test_the_median_is_not_moved_by_a_minority() -> None:
    """Two of nine members elsewhere leave the median of places and rotations with the seven."""
    places = np.zeros((9, 1, 3))
    places[7:] = 1.0
    angles = np.zeros((9, 1, 3))
    angles[7:, :, 0] = 2.0
    assert np.abs(median_place(places)).max() < 1e-3
    assert np.linalg.norm(SO3(median_rotation(SO3.exp(angles).wxyz)).log()) < 0.02


def test_bad_files_are_refused_with_a_remedy(tmp_path: Path) -> None:
    """A missing file, other numbers and half a split are errors that say what to do."""
    with pytest.raises(SourceError, match="no measurements"):
        read_tosses(tmp_path / "none.npz")
    np.savez(tmp_path / "wrong.npz", toss=np.zeros((5, 4)))
    with pytest.raises(SourceError, match="13 columns"):
        read_tosses(tmp_path / "wrong.npz")
    with pytest.raises(ConfigError, match="only one"):
        bench_cube_toss(quick=True, seed=0, fit=tmp_path / "wrong.npz")


@pytest.mark.slow
def test_the_quick_bench_gives_all_figures(shared_data: Path) -> None:
    """All keys of the contract, finite."""
    figures, rows = bench_cube_toss(quick=True, seed=0, data=shared_data / "cube_tosses.npz")
    assert figures.keys() >= KEYS
    assert all(np.isfinite(value) for value in figures.values())
    assert len(rows) == 2
