"""The start of a fit against known shapes: what outlines carve, what agreement lowers, what the mesh keeps."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.benchmarks.surface_error import surface_error
from gemel.errors import GemelError
from gemel.geometry import (
    bounds,
    box_mesh,
    euler_characteristic,
    is_watertight,
    is_winding_consistent,
    torus_mesh,
    volume,
)
from gemel.geometry.isosurface import grid_isosurface_mesh
from gemel.stages.reconstruct.cap import cap_hull
from gemel.stages.reconstruct.hull import Field, visual_hull
from gemel.stages.reconstruct.remesh import even_mesh
from gemel.stages.reconstruct.silhouettes import silhouette_distances
from gemel.stages.reconstruct.views import Views
from stages.reconstruct.drawn_views import drawn_views
from stages.reconstruct.made_views import blank_views

SIZE = (0.10, 0.06, 0.04)


def _box() -> tuple[np.ndarray, np.ndarray]:
    vertices, faces = box_mesh(SIZE)
    return vertices + np.array([0.0, 0.0, 0.5 * SIZE[2]]), faces


@pytest.fixture(scope="module")
def box_views() -> Views:
    return drawn_views(*_box())


def _surface(field: Field) -> tuple[np.ndarray, np.ndarray]:
    return grid_isosurface_mesh(field.values.astype(np.float64), field.low, field.spacing)


def test_silhouette_distance_is_that_of_a_half_plane() -> None:
    """Distance to a straight outline is right to a tenth of a pixel where the mask covers part of a pixel."""
    views, x = blank_views(1), np.arange(16) + 0.5
    masks = np.broadcast_to(np.clip(9.3 - x + 0.5, 0.0, 1.0), (1, 12, 16)).astype(np.float32)
    distances = silhouette_distances(replace(views, masks=masks))
    assert np.allclose(distances[0, 5, 7:12], (x - 9.3)[7:12], atol=0.51)
    assert abs(distances[0, 5, 9] - (9.5 - 9.3)) < 0.1


def test_the_hull_holds_the_object_and_not_much_more_at_its_foot(box_views: Views) -> None:
    """Every true point is inside or within a voxel; round the foot, where views look past it, the hull is tight."""
    hull = visual_hull(box_views, voxel_count=64, table_z=0.0)
    low, high = bounds(*_surface(hull))
    assert np.all(low <= bounds(*_box())[0] + hull.spacing)
    assert np.all(high >= bounds(*_box())[1] - hull.spacing)
    assert np.allclose(high[:2] - low[:2], SIZE[:2], atol=4.0 * hull.spacing)


def test_views_that_are_wrong_carve_nothing(box_views: Views) -> None:
    """One empty mask in fourteen does not remove the object; an ignored one does not vote at all."""
    masks = box_views.masks.copy()
    masks[3] = 0.0
    tolerant = visual_hull(replace(box_views, masks=masks), voxel_count=48, table_z=0.0)
    assert volume(*_surface(tolerant)) > 0.9 * np.prod(SIZE)
    ignore = box_views.ignore.copy()
    ignore[3:6] = True
    masks[3:6] = 0.0
    blind = visual_hull(replace(box_views, masks=masks, ignore=ignore), voxel_count=48, table_z=0.0)
    assert volume(*_surface(blind)) > 0.9 * np.prod(SIZE)


def test_an_object_that_nobody_sees_is_told() -> None:
    """Empty masks give an error with a remedy, not an empty mesh."""
    with pytest.raises(GemelError, match="visible in 0 of 6 views"):
        visual_hull(blank_views(6), voxel_count=32, table_z=None)


def test_the_cap_takes_the_roof_off(box_views: Views) -> None:
    """Views from above leave a roof on the hull; agreement between them lowers it to the flat top."""
    hull = visual_hull(box_views, voxel_count=64, table_z=0.0)
    capped = cap_hull(hull, box_views)
    rng = np.random.default_rng(0)
    before, after = (surface_error(_surface(field), _box(), rng) for field in (hull, capped))
    assert np.all(capped.values >= hull.values)
    assert before.volume_ratio > 1.2
    assert after.volume_ratio == pytest.approx(1.0, abs=0.1)
    assert after.root_chamfer_mm < 0.5 * before.root_chamfer_mm


def test_the_cap_leaves_a_surface_without_marks_alone(box_views: Views) -> None:
    """Pictures of one brightness say nothing about heights: the hull is kept."""
    plain = replace(box_views, images=np.full_like(box_views.images, 0.5))
    hull = visual_hull(plain, voxel_count=48, table_z=0.0)
    assert volume(*_surface(cap_hull(hull, plain))) > 0.97 * volume(*_surface(hull))


def _torus_field() -> Field:
    spacing, low = 0.004, np.array([-0.09, -0.09, -0.04])
    points = low + spacing * np.moveaxis(np.indices((46, 46, 21)), 0, -1)
    ring = np.hypot(points[..., 0], points[..., 1]) - 0.05
    return Field((np.hypot(ring, points[..., 2]) - 0.02).astype(np.float32), low, spacing)


def test_even_mesh_keeps_a_hole_and_has_even_triangles() -> None:
    """A torus stays a closed torus with about the faces asked for, and no edge far from the mean."""
    vertices, faces = even_mesh(_torus_field(), 1500)
    assert is_watertight(vertices, faces)
    assert is_winding_consistent(vertices, faces)
    assert euler_characteristic(vertices, faces) == 0
    assert 1000 < len(faces) < 2000
    corners = vertices[faces]
    lengths = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1)
    assert lengths.min() > 0.4 * lengths.mean()
    assert lengths.max() < 2.0 * lengths.mean()
    error = surface_error((vertices, faces), torus_mesh(0.05, 0.02, 96, 48), np.random.default_rng(0))
    assert error.root_chamfer_mm < 0.6


def test_a_surface_at_the_border_of_the_grid_is_still_closed() -> None:
    """A field that is inside up to its border gives a closed mesh, not one with a hole."""
    field = Field(np.full((12, 12, 12), -0.01, np.float32), np.zeros(3), 0.005)
    vertices, faces = even_mesh(field, 300)
    assert is_watertight(vertices, faces)
    assert euler_characteristic(vertices, faces) == 2
