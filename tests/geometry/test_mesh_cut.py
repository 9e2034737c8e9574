import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemel.geometry import box_mesh, torus_mesh, volume_moments
from gemel.geometry.mesh_cut import moments_above
from gemel.geometry.so3 import SO3


def test_a_cut_box_is_a_box() -> None:
    """A plane across a box leaves the box that remains: volume and centre in closed form."""
    vertices, faces = box_mesh((0.2, 0.4, 0.6))
    volume, first = moments_above(vertices, faces, 2, 0.1)
    assert volume == pytest.approx(0.2 * 0.4 * 0.2)
    np.testing.assert_allclose(first / volume, [0.0, 0.0, 0.2], atol=1e-12)


@given(st.integers(0, 2), st.floats(-0.08, 0.08), st.integers(0, 20))
def test_both_sides_of_a_plane_make_the_whole(axis: int, height: float, seed: int) -> None:
    """What lies above and, mirrored, what lies below add up, for a turned shape with a hole."""
    vertices, faces = torus_mesh(0.05, 0.014, 24, 12)
    vertices = SO3.random(np.random.default_rng(seed)) @ vertices
    volume, first = moments_above(vertices, faces, axis, height)
    mirror = np.ones(3)
    mirror[axis] = -1.0
    below, below_first = moments_above(vertices * mirror, faces[:, ::-1], axis, -height)
    whole, whole_first, _ = volume_moments(vertices, faces)
    assert volume + below == pytest.approx(whole, rel=1e-9)
    np.testing.assert_allclose(first + below_first * mirror, whole_first, atol=1e-12)


def test_planes_beyond_the_solid_cut_nothing_or_everything() -> None:
    """Above the top there is nothing, above the bottom there is all."""
    vertices, faces = torus_mesh(0.05, 0.014, 24, 12)
    assert moments_above(vertices, faces, 2, 1.0)[0] == 0.0
    assert moments_above(vertices, faces, 2, -1.0)[0] == pytest.approx(volume_moments(vertices, faces)[0])
