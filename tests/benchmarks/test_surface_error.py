"""Distances between surfaces are exact, and alignment finds the motion that it undoes."""

import numpy as np
import pytest

from gemel.benchmarks.surface_error import Surface, aligned, surface_error
from gemel.geometry import SE3, box_mesh, icosphere_mesh


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_a_surface_has_no_distance_from_itself() -> None:
    """No floor from sampling: equal surfaces are a thousandth of a millimetre apart at most."""
    box = box_mesh((0.2, 0.1, 0.05))
    error = surface_error(box, box, _rng())
    assert error.root_chamfer_mm < 1e-3
    assert error.volume_ratio == pytest.approx(1.0)


def test_concentric_spheres_are_their_difference_apart() -> None:
    """Every point of a ball's surface is as far from a smaller ball as their radii differ."""
    error = surface_error(icosphere_mesh(0.103, 5), icosphere_mesh(0.1, 5), _rng())
    assert error.root_chamfer_mm == pytest.approx(3.0, abs=0.03)
    assert error.hausdorff95_mm == pytest.approx(3.0, abs=0.05)
    assert error.volume_ratio == pytest.approx(1.03**3, rel=1e-3)


def test_nearest_points_of_a_box_are_the_clamped_coordinates() -> None:
    """Outside a box the nearest point is each coordinate clamped to it."""
    size, points = np.array([0.2, 0.1, 0.05]), 0.3 * _rng().standard_normal((500, 3))
    outside = points[np.any(np.abs(points) > size / 2, axis=1)]
    nearest, distances, _ = Surface(box_mesh(tuple(size)), _rng()).nearest(outside)
    assert np.allclose(nearest, np.clip(outside, -size / 2, size / 2), atol=1e-9)
    assert np.allclose(distances, np.linalg.norm(nearest - outside, axis=1))


def test_alignment_undoes_a_small_motion() -> None:
    """A box that was moved by millimetres and degrees comes back onto itself."""
    box = box_mesh((0.2, 0.1, 0.05))
    T = SE3.exp(np.array([0.004, -0.003, 0.002, 0.03, 0.02, -0.04]))
    moved = (T @ box[0], box[1])
    back, T_true_given = aligned(moved, box, _rng())
    assert np.allclose((T_true_given @ T).as_matrix(), np.eye(4), atol=1e-5)
    assert surface_error(back, box, _rng()).root_chamfer_mm < 1e-2
