"""The triangle rasteriser: exact depth, right faces in front, cut at the near plane."""

import numpy as np
import pytest

pytest.importorskip("numba")

from gemel.errors import GemelError
from gemel.geometry import box_mesh, icosphere_mesh
from gemel.services.render.mesh_raster import NOTHING, rasterise, silhouette

CAMERA = (100.0, 110.0, 32.0, 24.0)


def test_depth_of_a_sphere_is_that_of_its_rays() -> None:
    """Depth at every covered pixel agrees with the ray through its centre, to the error of the inscribed mesh."""
    vertices, faces = icosphere_mesh(0.2, 5)
    depth, face_index = rasterise(vertices + np.array([0.02, -0.01, 1.0]), faces, CAMERA, 64, 48)
    u, v = np.meshgrid(np.arange(64) + 0.5, np.arange(48) + 0.5)
    ray = np.stack([(u - 32.0) / 100.0, (v - 24.0) / 110.0, np.ones_like(u)], axis=-1)
    centre = np.array([0.02, -0.01, 1.0])
    a, b, c = (ray**2).sum(-1), ray @ centre, centre @ centre - 0.04
    inside = b**2 - a * c
    expected = np.where(inside > 0, (b - np.sqrt(np.maximum(inside, 0))) / a, np.inf)
    sure = inside > 0.01
    assert np.abs(depth[sure] - expected[sure]).max() < 5e-4
    assert np.array_equal(np.isfinite(depth), face_index != NOTHING)
    assert not np.isfinite(depth[inside < 0]).any()


def test_area_of_a_square_is_its_number_of_pixels() -> None:
    """A square of 20 x 22 px at half-pixel borders covers exactly those centres, whichever way it is wound."""
    vertices = np.array([[-0.1, -0.1, 1.0], [0.1, -0.1, 1.0], [0.1, 0.1, 1.0], [-0.1, 0.1, 1.0]])
    for faces in (np.array([[0, 1, 2], [0, 2, 3]]), np.array([[0, 2, 1], [0, 3, 2]])):
        assert silhouette(vertices, faces, CAMERA, 64, 48).sum() == 20 * 22


def test_nearer_face_wins_whatever_the_order() -> None:
    """Two parallel squares: the nearer one's faces are seen where both are."""
    square = np.array([[-0.1, -0.1, 0.0], [0.1, -0.1, 0.0], [0.1, 0.1, 0.0], [-0.1, 0.1, 0.0]])
    faces = np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]])
    for near, far in ((0, 1), (1, 0)):
        vertices = np.concatenate([square + np.array([0, 0, 1.0 + near]), square + np.array([0, 0, 1.0 + far])])
        face_index = rasterise(vertices, faces, CAMERA, 64, 48)[1]
        assert face_index[24, 32] // 2 == (0 if near < far else 1)


def test_a_room_around_the_camera_fills_the_image() -> None:
    """From inside a box every pixel sees a wall, though half of the box lies behind the camera."""
    vertices, faces = box_mesh((2.0, 2.0, 2.0))
    depth, _ = rasterise(vertices, faces, CAMERA, 64, 48)
    assert np.isfinite(depth).all()
    assert depth[24, 32] == pytest.approx(1.0, abs=1e-9)


def test_bad_vertices_are_named() -> None:
    """NaN is an error, not an empty image."""
    with pytest.raises(GemelError, match="NaN"):
        rasterise(np.full((3, 3), np.nan), np.array([[0, 1, 2]]), CAMERA, 8, 8)
