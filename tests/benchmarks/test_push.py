"""Pushed objects: plane geometry, laws of pushing and the loader."""

from pathlib import Path

import numpy as np
import pytest

from gemel.benchmarks.push.bench import bench_push
from gemel.benchmarks.push.data import PROBE_RADIUS_M, Pushes, read_pushes
from gemel.benchmarks.push.outline import centroid, compose, inverse, nearest
from gemel.benchmarks.push.problem import PARAMETERS, PushProblem
from gemel.errors import SourceError

SQUARE = 0.045 * np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
TRIANGLE = np.array([[0.045, 0.045], [-0.081, 0.045], [0.045, -0.081]])
NEUTRAL = np.array([0.7, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
KEYS = {
    "position_mm", "rotation_deg", "coverage95", "interval_score_ratio", "transfer_position_mm",
    "transfer_rotation_deg", "n_test",
}  # fmt: skip


def _pushes(outline: np.ndarray, height_m: np.ndarray) -> Pushes:
    """Pushes along +x against the left side, at heights above the object's origin; every push is 20 mm of contact."""
    count = len(height_m)
    start = np.zeros((count, 3))
    tip = np.column_stack([np.full(count, outline[:, 0].min() - PROBE_RADIUS_M), height_m])
    return Pushes("abs_x_v10", outline, 0.01, start, start, tip, tip + np.array([0.02, 0.0]), np.zeros((0, count, 3)))


def test_distances_from_an_outline_are_signed() -> None:
    """Outside positive, inside negative, normals outwards, corners round."""
    points = np.array([[0.06, 0.0], [0.04, 0.0], [0.048, 0.049]])
    distance, normal = nearest(SQUARE, points)
    assert distance == pytest.approx([0.015, -0.005, 0.005])
    assert normal == pytest.approx(np.array([[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]]), abs=1e-9)
    assert centroid(TRIANGLE) == pytest.approx(TRIANGLE.mean(axis=0))


def test_plane_poses_form_a_group() -> None:
    """A pose and its inverse cancel, on both sides."""
    pose = np.random.default_rng(0).normal(size=(20, 3))
    for product in (compose(pose, inverse(pose)), compose(inverse(pose), pose)):
        assert product == pytest.approx(np.zeros((20, 3)), abs=1e-12)


def test_a_push_through_the_middle_moves_and_does_not_turn() -> None:
    """The object goes with the probe; off the middle it turns away, in mirrored pairs."""
    ends = PushProblem(_pushes(SQUARE, np.array([0.0, 0.02, -0.02]))).end_poses(np.tile(NEUTRAL, (1, 3, 1)))[0]
    assert ends[0] == pytest.approx([0.02, 0.0, 0.0], abs=5e-4)  # the contact gives way by 0.4 mm
    assert ends[1, 2] < -0.1
    assert ends[2] == pytest.approx(ends[1] * [1.0, -1.0, -1.0], abs=1e-4)


def test_the_tracker_parameters_are_a_change_of_frame() -> None:
    """An outline that is tracked askew gives the same motion, seen from the askew frame."""
    pushes = _pushes(SQUARE, np.array([0.01, -0.02]))
    T_object_outline = np.array([0.001, -0.002, 0.05])
    seen = compose(pushes.start, inverse(T_object_outline)[None])
    askew = Pushes("abs_x_v10", SQUARE, 0.01, seen, seen, pushes.tip_start, pushes.tip_end, pushes.authors_end)
    draw = np.concatenate([NEUTRAL[:6], T_object_outline])
    straight = PushProblem(pushes).end_poses(np.tile(NEUTRAL, (1, 2, 1)))[0]
    found = PushProblem(askew).end_poses(np.tile(draw, (1, 2, 1)))[0]
    assert compose(found, T_object_outline[None]) == pytest.approx(straight, abs=1e-9)


def test_a_probe_that_misses_moves_nothing() -> None:
    """Beyond the corner the object stays."""
    ends = PushProblem(_pushes(SQUARE, np.array([0.06]))).end_poses(NEUTRAL[None, None])[0]
    assert ends == pytest.approx(np.zeros((1, 3)), abs=1e-6)
    assert len(PARAMETERS) == len(NEUTRAL)


def test_sets_without_an_outline_are_refused(tmp_path: Path) -> None:
    """A set whose shape is unknown is an error that names the shapes that are there."""
    np.savez(tmp_path / "p.npz", **{"abs_star_v10/init_pose": np.zeros((3, 3))})
    np.savez(tmp_path / "s.npz", rect1=SQUARE)
    with pytest.raises(SourceError, match="rect1"):
        read_pushes(tmp_path / "p.npz", tmp_path / "s.npz")


@pytest.mark.slow
def test_the_quick_bench_gives_all_figures(shared_data: Path) -> None:
    """All keys of the contract, finite."""
    figures, _ = bench_push(
        quick=True, seed=0, data=shared_data / "mcube_push_endpoints.npz", shapes=shared_data / "mcube_shapes.npz"
    )
    assert figures.keys() >= KEYS
    assert all(np.isfinite(value) for value in figures.values())
