"""Laws of meshes: topology of the generators, measures, sampling."""

import numpy as np
import pytest

from gemel import geometry as g
from gemel.errors import GemelError
from gemel.geometry.mesh_shapes import Mesh

SOLIDS = {
    "box": g.box_mesh((0.2, 0.3, 0.5)),
    "sphere": g.icosphere_mesh(0.3, 2),
    "cylinder": g.cylinder_mesh(0.2, 0.7, 24),
    "torus": g.torus_mesh(0.5, 0.2, 24, 12),
}
every_solid = pytest.mark.parametrize("solid", SOLIDS.values(), ids=SOLIDS.keys())


@every_solid
def test_generators_bound_a_solid(solid: Mesh) -> None:
    """Watertight, consistently wound, outward, in one piece, without degenerate faces, centred."""
    assert g.is_watertight(*solid)
    assert g.is_winding_consistent(*solid)
    assert g.volume(*solid) > 0.0
    assert g.component_count(*solid) == 1
    assert g.face_areas(*solid).min() > 0.0
    np.testing.assert_allclose(g.centroid(*solid), 0.0, atol=1e-14)


def test_euler_characteristics() -> None:
    """2 for everything like a ball, 0 for a torus, 4 for two balls; an unused vertex does not count."""
    assert [g.euler_characteristic(*solid) for solid in SOLIDS.values()] == [2, 2, 2, 0]
    two = g.merge_meshes([SOLIDS["box"], SOLIDS["sphere"]])
    assert g.euler_characteristic(*two) == 4
    vertices, faces = SOLIDS["box"]
    assert g.euler_characteristic(np.concatenate([vertices, np.zeros((1, 3))]), faces) == 2


def test_measures_of_a_box() -> None:
    """Volume, area, bounds and the number of edges, in closed form."""
    box = SOLIDS["box"]
    assert g.volume(*box) == pytest.approx(0.03, rel=1e-14)
    assert g.surface_area(*box) == pytest.approx(0.62, rel=1e-14)
    np.testing.assert_allclose(g.bounds(*box), [[-0.1, -0.15, -0.25], [0.1, 0.15, 0.25]], atol=1e-16)
    assert g.edges(*box).shape == (18, 2)


def test_curved_generators_converge_to_their_solids() -> None:
    """Volume and area approach the closed forms from below, four times closer at twice the resolution."""
    sphere, torus = 4.0 / 3.0 * np.pi, 2.0 * np.pi**2 * 1.0 * 0.3**2
    volume_errors = [
        [1.0 - g.volume(*g.icosphere_mesh(1.0, n)) / sphere for n in (3, 4)],
        [1.0 - g.surface_area(*g.icosphere_mesh(1.0, n)) / (4.0 * np.pi) for n in (3, 4)],
        [1.0 - g.volume(*g.torus_mesh(1.0, 0.3, 2 * n, n)) / torus for n in (32, 64)],
        [1.0 - g.volume(*g.cylinder_mesh(1.0, 2.0, n)) / (2.0 * np.pi) for n in (32, 64)],
    ]
    for coarse, fine in volume_errors:
        assert 0.0 < fine < 0.01
        assert coarse / fine == pytest.approx(4.0, rel=0.02)


@every_solid
def test_measures_do_not_change_under_rigid_motion(solid: Mesh) -> None:
    """Volume and area are invariant; centroid and normals move along; a mirror turns the volume negative."""
    vertices, faces = solid
    T = g.SE3.random(np.random.default_rng(0))
    moved = T @ vertices
    assert g.volume(moved, faces) == pytest.approx(g.volume(vertices, faces), rel=1e-12)
    assert g.surface_area(moved, faces) == pytest.approx(g.surface_area(vertices, faces), rel=1e-12)
    np.testing.assert_allclose(g.centroid(moved, faces), T @ g.centroid(vertices, faces), atol=1e-13)
    np.testing.assert_allclose(g.face_normals(moved, faces), T.rotation @ g.face_normals(vertices, faces), atol=1e-12)
    assert g.volume(-vertices, faces) == pytest.approx(-g.volume(vertices, faces), rel=1e-12)


@every_solid
def test_closed_surfaces_have_no_net_area(solid: Mesh) -> None:
    """The area vectors of a closed surface add up to zero (Gauss)."""
    net = g.face_areas(*solid) @ g.face_normals(*solid)
    np.testing.assert_allclose(net, 0.0, atol=1e-14)


def test_an_open_mesh_is_not_watertight() -> None:
    """One missing face leaves a border and takes one from the Euler characteristic."""
    vertices, faces = SOLIDS["sphere"]
    assert not g.is_watertight(vertices, faces[1:])
    assert g.is_winding_consistent(vertices, faces[1:])
    assert g.euler_characteristic(vertices, faces[1:]) == 1
    assert not g.is_watertight(vertices, faces[:0])


def test_edges_of_more_than_two_faces_are_not_watertight() -> None:
    """A surface written twice has four faces at every edge, and encloses nothing well defined."""
    vertices, faces = SOLIDS["box"]
    assert not g.is_watertight(vertices, np.concatenate([faces, faces]))


def test_a_flipped_face_is_noticed() -> None:
    """Turning one face keeps the mesh watertight but breaks the winding."""
    vertices, faces = SOLIDS["torus"]
    flipped = faces.copy()
    flipped[5] = flipped[5, ::-1]
    assert g.is_watertight(vertices, flipped)
    assert not g.is_winding_consistent(vertices, flipped)


def test_components_are_counted() -> None:
    """As many pieces as were merged, in any order of faces, also along a chain with shuffled numbers."""
    rng = np.random.default_rng(0)
    vertices, faces = g.merge_meshes([SOLIDS["box"], SOLIDS["torus"], SOLIDS["sphere"]])
    renumbered = rng.permutation(len(vertices))
    assert g.component_count(vertices, rng.permutation(renumbered[faces])) == 3
    i = np.arange(500)
    chain = rng.permutation(502)[np.stack([i, i + 1, i + 2], axis=-1)]
    assert g.component_count(np.zeros((502, 3)), chain) == 1
    assert g.component_count(vertices, faces[:0]) == 0


def test_vertex_normals_of_a_sphere_point_outwards() -> None:
    """On a sphere the normal is the direction from the centre; an unused vertex has none."""
    vertices, faces = g.icosphere_mesh(2.0, 3)
    normals = g.vertex_normals(np.concatenate([vertices, np.ones((1, 3))]), faces)
    cosine = np.sum(normals[:-1] * vertices / 2.0, axis=-1)
    assert cosine.min() > np.cos(np.deg2rad(1.0))
    np.testing.assert_array_equal(normals[-1], 0.0)


def test_samples_lie_on_the_surface_and_are_uniform() -> None:
    """Samples lie in their faces, and each side of a box gets its share by area, within five sigma."""
    box, count = SOLIDS["box"], 20_000
    points, face_index = g.sample_surface(*box, count, np.random.default_rng(0))
    offset = points - box[0][box[1][face_index, 0]]
    np.testing.assert_allclose(np.sum(offset * g.face_normals(*box)[face_index], axis=-1), 0.0, atol=1e-15)
    assert np.all(points >= g.bounds(*box)[0] - 1e-15)
    assert np.all(points <= g.bounds(*box)[1] + 1e-15)
    share = g.face_areas(*box) / g.surface_area(*box)
    expected, sigma = count * share, np.sqrt(count * share * (1.0 - share))
    assert np.all(np.abs(np.bincount(face_index, minlength=12) - expected) < 5.0 * sigma)
    # The mean of a uniform sample is the centre of the surface; no coordinate varies by more than 0.25 m.
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=5.0 * 0.25 / np.sqrt(count))


def test_samples_fill_each_triangle_evenly() -> None:
    """Within one triangle the barycentric coordinates have means of one third."""
    triangle = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([[0, 1, 2]])
    points, _ = g.sample_surface(*triangle, 20_000, np.random.default_rng(1))
    assert np.all(points[:, 0] + points[:, 1] <= 1.0)
    np.testing.assert_allclose(points.mean(axis=0), [1 / 3, 1 / 3, 0.0], atol=5.0 * np.sqrt(1 / 18 / 20_000))


def test_errors_name_the_problem() -> None:
    """Each refusal says what was wrong."""
    vertices, faces = SOLIDS["box"]
    with pytest.raises(GemelError, match="Faces use vertices 1 to 8, but the mesh has 8 vertices"):
        g.face_areas(vertices, faces + 1)
    with pytest.raises(GemelError, match="no volume centroid"):
        g.centroid(vertices, faces[:0])
    with pytest.raises(GemelError, match="without faces has no bounds"):
        g.bounds(vertices, faces[:0])
    with pytest.raises(GemelError, match=r"size_y is 0\.0; a positive length"):
        g.box_mesh((1.0, 0.0, 1.0))
    with pytest.raises(GemelError, match="2 segments cannot close a circle"):
        g.cylinder_mesh(1.0, 1.0, 2)
    with pytest.raises(GemelError, match="major_minus_minor_radius"):
        g.torus_mesh(0.1, 0.2)


def test_public_names_exist() -> None:
    """Everything the package promises is there."""
    assert all(hasattr(g, name) for name in g.__all__)
