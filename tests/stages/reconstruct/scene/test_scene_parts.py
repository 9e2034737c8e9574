"""Laws of the pieces that a scene is made of."""

import numpy as np
import pytest

from gemel.geometry import box_mesh, cylinder_mesh, face_areas, icosphere_mesh, is_watertight, is_winding_consistent
from gemel.stages.reconstruct.scene.backdrop import fibonacci_sphere
from gemel.stages.reconstruct.scene.fill import filled, with_grain
from gemel.stages.reconstruct.scene.lattice import lattice
from gemel.stages.reconstruct.scene.response import fit_responses
from gemel.stages.reconstruct.scene.scene_views import taken_pixels, withheld_views
from gemel.stages.reconstruct.scene.sight import median_of_seen
from gemel.stages.reconstruct.scene.subdivide import even_surface
from gemel.stages.reconstruct.scene.table import Lattice, disputed_faces


def _coloured(mesh):
    vertices, faces = mesh
    return vertices, faces, np.random.default_rng(0).random((len(faces), 3))


@pytest.mark.parametrize("mesh", [box_mesh((0.3, 0.02, 0.05)), cylinder_mesh(0.04, 0.4, 24)])
def test_cutting_long_edges_keeps_the_surface(mesh):
    """Area, closedness, winding and colours stay; no edge is much longer than asked for."""
    surface = _coloured(mesh)
    vertices, faces, colours = even_surface(surface, 0.02, 10_000)
    sides = vertices[faces] - vertices[np.roll(faces, 1, axis=1)]
    assert np.linalg.norm(sides, axis=-1).max() <= 1.6 * 0.02
    assert is_watertight(vertices, faces)
    assert is_winding_consistent(vertices, faces)
    for colour in np.unique(surface[2], axis=0):
        before = face_areas(*surface[:2])[(surface[2] == colour).all(axis=1)].sum()
        after = face_areas(vertices, faces)[(colours == colour).all(axis=1)].sum()
        assert after == pytest.approx(before, rel=1e-9)


def test_dense_meshes_are_thinned_to_their_budget():
    """A mesh with more faces than the budget keeps its shape with fewer."""
    vertices, faces, _ = even_surface(_coloured(icosphere_mesh(0.1, 5)), 0.01, 2000)
    assert 300 < len(faces) <= 2000
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 0.1, rtol=0.02)
    assert face_areas(vertices, faces).sum() == pytest.approx(4.0 * np.pi * 0.01, rel=0.1)


def test_the_lattice_covers_its_rectangle_with_even_triangles():
    """All sides are equal, normals point up, and the rectangle's corners lie inside."""
    box = np.array([[-0.2, 0.1], [0.35, 0.4]])
    vertices, faces = lattice(box, 0.03)
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    for first, second in ((a, b), (b, c), (c, a)):
        np.testing.assert_allclose(np.linalg.norm(first - second, axis=1), 0.03, rtol=1e-9)
    cross = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    assert (cross > 0.0).all()
    rng = np.random.default_rng(0)
    points = np.concatenate([box, rng.uniform(box[0], box[1], (200, 2))])
    for point in points:
        weights = [_turn(point, p, q) for p, q in ((a, b), (b, c), (c, a))]
        assert (np.min(weights, axis=0) >= -1e-12).any()


def _turn(point, p, q):
    return (q - p)[:, 0] * (point - p)[:, 1] - (q - p)[:, 1] * (point - p)[:, 0]


def test_medians_leave_out_what_was_not_seen():
    """The fast median equals numpy's, and is NaN where nothing was seen."""
    rng = np.random.default_rng(1)
    values = rng.random((9, 40, 3))
    values[rng.random((9, 40)) < 0.5] = np.nan
    values[:, 0] = np.nan
    values[:, 1:3] = rng.random((9, 2, 3))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(median_of_seen(values)[1:], np.nanmedian(values[:, 1:], axis=0))
    assert np.isnan(median_of_seen(values)[0]).all()


def test_responses_are_found_from_what_cameras_share():
    """Gains and offsets against the first camera come back, with outliers among the points."""
    rng = np.random.default_rng(2)
    colours = rng.uniform(0.1, 0.8, (400, 3))
    gains = np.array([[1.0, 1.0, 1.0], [1.2, 0.9, 1.1], [0.8, 1.0, 0.95]])
    offsets = np.array([[0.0, 0.0, 0.0], [0.02, 0.0, -0.03], [0.0, 0.05, 0.01]])
    seen = gains[:, None] * colours + offsets[:, None] + 0.01 * rng.standard_normal((3, 400, 3))
    seen[1, :30] = 0.0
    found = fit_responses(seen, rng.random((3, 400)) < 0.9, np.array([5, 5, 20]))
    shown = found.gains[:, None] * colours + found.offsets[:, None]
    assert np.abs(shown - (gains[:, None] * colours + offsets[:, None])).mean() < 0.02


def test_a_single_camera_has_no_response():
    """With nothing to compare, the camera is the gauge."""
    found = fit_responses(np.full((1, 100, 3), 0.4), np.ones((1, 100), dtype=bool), np.array([3]))
    np.testing.assert_allclose(found.gains, 1.0)
    np.testing.assert_allclose(found.offsets, 0.0)


def test_filling_is_smooth_and_keeps_what_is_known():
    """A hole in a slope is closed by the slope; known values stay as they were."""
    x, y = (axis.ravel() for axis in np.mgrid[0:1:30j, 0:1:30j])
    points, values = np.stack([x, y], axis=-1), np.stack([x, 0.5 * y], axis=-1)
    is_known = (np.abs(points - 0.5) > 0.15).any(axis=1)
    result = filled(points, np.where(is_known[:, None], values, 9.0), is_known)
    np.testing.assert_array_equal(result[is_known], values[is_known])
    np.testing.assert_allclose(result[~is_known], values[~is_known], atol=0.02)


def test_filled_places_have_the_grain_of_their_surroundings():
    """Where nothing is known, values scatter as the known ones do, not less."""
    rng = np.random.default_rng(4)
    x, y = (axis.ravel() for axis in np.mgrid[0:1:40j, 0:1:40j])
    points, values = np.stack([x, y], axis=-1), 0.5 + 0.05 * rng.standard_normal((1600, 3))
    is_known = (np.abs(points - 0.5) > 0.1).any(axis=1)
    smooth = filled(points, values, is_known)
    grained = with_grain(points, smooth, is_known, 0.3, rng)
    assert smooth[~is_known].std() < 0.03
    assert grained[~is_known].std() == pytest.approx(0.05, rel=0.3)
    np.testing.assert_array_equal(grained[is_known], values[is_known])


def test_directions_are_spread_evenly():
    """Every octant has its share of the sphere, and all directions have length one."""
    directions = fibonacci_sphere(8000)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    octant = (directions > 0.0) @ np.array([1, 2, 4])
    np.testing.assert_allclose(np.bincount(octant), 1000, atol=15)


def test_places_that_views_disagree_on_are_no_table():
    """Beyond the table's edge every view sees something else; shadows in the work area do not count."""
    rng = np.random.default_rng(5)
    flat, faces = lattice(np.array([[0.0, 0.0], [1.0, 1.0]]), 0.04)
    level = np.ones(len(faces), dtype=np.int64)
    grid = Lattice(np.column_stack([flat, np.zeros(len(flat))]), faces, level)
    x, y = grid.middles[:, 0], grid.middles[:, 1]
    level[(x > 0.8) & (y < 0.3)] = 0
    colours = 0.5 + 0.02 * rng.standard_normal((12, len(faces), 3))
    colours[:, x > 0.7] = rng.uniform(0.0, 1.0, (12, 1, 1))
    colours[:, (x < 0.3) & (rng.random(len(faces)) < 0.05)] = rng.uniform(0.0, 1.0, (12, 1, 1))
    is_disputed = disputed_faces(grid, colours)
    assert is_disputed[(x > 0.75) & (y > 0.4)].all()
    assert not is_disputed[x < 0.6].any()
    assert not is_disputed[(x > 0.85) & (y < 0.2)].any()


def test_no_view_that_objects_were_fitted_to_is_withheld():
    """About every eighth view of each camera is withheld, none of them used before."""
    camera = np.repeat([0, 1, 2], [16, 45, 3])
    used = np.concatenate([np.arange(16, 56), [0, 5]])
    withheld = withheld_views(camera, used)
    assert not np.isin(withheld, used).any()
    np.testing.assert_array_equal(np.bincount(camera[withheld]), [2, 5, 1])


def test_pixels_without_trusted_masks_are_all_taken():
    """A missing mask hides the whole view; a mask hides the object and two pixels round it."""
    is_known = np.ones((24, 32), dtype=bool)
    mask = np.zeros((24, 32), dtype=bool)
    mask[8:10, 12:14] = True
    assert taken_pixels([mask, None], is_known, (12, 16)).all()
    taken = taken_pixels([mask], is_known, (12, 16))
    assert taken.sum() == 13
    assert taken[4, 6]
    is_known[:, :2] = False
    assert taken_pixels([], is_known, (12, 16)).sum() == 12
