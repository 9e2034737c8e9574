"""Laws of rigid-body inertia."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.errors import GemelError
from gemel.geometry import SE3, SO3, Inertia, box_mesh, cylinder_mesh, icosphere_mesh


def cloud(seed: int, count: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Point masses [kg] and their positions [m]."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 2.0, count), rng.standard_normal((count, 3)) + rng.standard_normal(3)


def about(masses_kg: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Inertia of point masses about the origin, straight from the definition."""
    second = np.einsum("n,ni,nj->ij", masses_kg, p, p)
    return np.trace(second) * np.eye(3) - second


def inertia_of_cloud(masses_kg: np.ndarray, p: np.ndarray) -> Inertia:
    p_cm = masses_kg @ p / masses_kg.sum()
    return Inertia(masses_kg.sum(), p_cm, about(masses_kg, p - p_cm))


def assert_same_inertia(a: Inertia, b: Inertia, rtol: float = 1e-12) -> None:
    assert a.mass_kg == pytest.approx(b.mass_kg, rel=rtol)
    np.testing.assert_allclose(a.p_BoBcm_B, b.p_BoBcm_B, atol=rtol)
    np.testing.assert_allclose(a.I_BBcm_B, b.I_BBcm_B, atol=rtol * np.trace(b.I_BBcm_B))


def with_moments(moments: np.ndarray, seed: int = 0, mass_kg: float = 1.5) -> Inertia:
    """A body with the given principal moments, turned and moved at random."""
    T = SE3.random(np.random.default_rng(seed))
    return Inertia(mass_kg, np.zeros(3), np.diag(moments)).transformed(T)


@pytest.mark.parametrize("seed", range(5))
def test_parallel_axis_theorem(seed: int) -> None:
    """The inertia about the origin equals the direct sum over point masses, and can be undone."""
    masses_kg, p = cloud(seed)
    body = inertia_of_cloud(masses_kg, p)
    np.testing.assert_allclose(body.about_origin(), about(masses_kg, p), rtol=1e-12, atol=1e-12)
    back = Inertia.from_about_origin(body.mass_kg, body.p_BoBcm_B, body.about_origin())
    assert_same_inertia(back, body)


@pytest.mark.parametrize("seed", range(5))
def test_transformed_moves_the_matter(seed: int) -> None:
    """Describing the body in another frame equals moving every point mass."""
    masses_kg, p = cloud(seed)
    T_A_B = SE3.random(np.random.default_rng(100 + seed))
    moved = inertia_of_cloud(masses_kg, T_A_B @ p)
    assert_same_inertia(inertia_of_cloud(masses_kg, p).transformed(T_A_B), moved)


@pytest.mark.parametrize("seed", range(5))
def test_composite_law(seed: int) -> None:
    """Two bodies welded together are the body of all their point masses; the order does not matter."""
    (m_a, p_a), (m_b, p_b) = cloud(seed), cloud(seed + 50)
    a, b = inertia_of_cloud(m_a, p_a), inertia_of_cloud(m_b, p_b)
    together = inertia_of_cloud(np.concatenate([m_a, m_b]), np.concatenate([p_a, p_b]))
    assert_same_inertia(a + b, together)
    assert_same_inertia(b + a, together)


def test_two_half_boxes_make_a_box() -> None:
    """Halves moved apart by half a length are the whole again."""
    half = Inertia.box(1.0, (0.2, 0.3, 0.25))
    up = SE3(SO3.identity(), np.array([0.0, 0.0, 0.125]))
    whole = half.transformed(up) + half.transformed(up.inverse())
    assert_same_inertia(whole, Inertia.box(2.0, (0.2, 0.3, 0.5)))


def test_mesh_inertia_of_a_box_is_exact() -> None:
    """Turned, moved far away, and still the closed form."""
    vertices, faces = box_mesh((0.2, 0.3, 0.5))
    T_A_B = SE3(SO3.random(np.random.default_rng(0)), np.array([10.0, -20.0, 30.0]))
    expected = Inertia.box(0.03 * 500.0, (0.2, 0.3, 0.5)).transformed(T_A_B)
    assert_same_inertia(Inertia.from_mesh(T_A_B @ vertices, faces, 500.0), expected, rtol=1e-11)


def test_mesh_inertia_of_a_prism_is_exact() -> None:
    """A regular n-gon prism has I_zz = m r²/2 (1 - 2/3 sin²(pi/n)), which tends to the cylinder's."""
    n, radius, length, density = 24, 0.3, 0.8, 700.0
    prism = Inertia.from_mesh(*cylinder_mesh(radius, length, n), density)
    mass_kg = density * length * 0.5 * n * radius**2 * np.sin(2.0 * np.pi / n)
    axial = mass_kg * radius**2 / 2.0 * (1.0 - 2.0 / 3.0 * np.sin(np.pi / n) ** 2)
    across = axial / 2.0 + mass_kg * length**2 / 12.0
    assert_same_inertia(prism, Inertia(mass_kg, np.zeros(3), np.diag([across, across, axial])))
    fine = Inertia.from_mesh(*cylinder_mesh(radius, length, 512), density)
    assert_same_inertia(fine, Inertia.cylinder(fine.mass_kg, radius, length), rtol=1e-4)


def test_mesh_inertia_of_a_sphere_converges() -> None:
    """The error against 2/5 m r² falls fourfold with each subdivision."""
    errors = []
    for subdivision_count in (3, 4):
        ball = Inertia.from_mesh(*icosphere_mesh(0.5, subdivision_count), 1000.0)
        exact = Inertia.sphere(1000.0 * 4.0 / 3.0 * np.pi * 0.5**3, 0.5)
        errors.append(np.abs(ball.I_BBcm_B - exact.I_BBcm_B).max() / exact.I_BBcm_B[0, 0])
    assert errors[1] < 0.005
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def is_positive_definite(matrix: np.ndarray) -> bool:
    return bool(np.linalg.eigvalsh(matrix)[0] > 0.0)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    moments=st.tuples(*[st.floats(-0.5, 3.0)] * 3),
    mass_kg=st.sampled_from([2.0, -2.0]),
    seed=st.integers(0, 99),
)
def test_pseudo_inertia_is_positive_definite_iff_physical(
    moments: tuple[float, float, float], mass_kg: float, seed: int
) -> None:
    """The one matrix condition and the list of conditions agree, counterexamples included."""
    small, middle, large = sorted(moments)
    if min(abs(small), abs(small + middle - large)) < 1e-3:
        return  # on the border the two differ by design: flat bodies are physical, their matrix is singular
    body = with_moments(np.array(moments), seed, mass_kg)
    assert body.is_physical() == (mass_kg > 0.0 and small > 0.0 and small + middle > large)
    assert is_positive_definite(body.pseudo_inertia()) == body.is_physical()


def test_pseudo_inertia_is_the_second_moment_of_mass() -> None:
    """J is the sum of m (p, 1)(p, 1)ᵀ over point masses, and gives the body back."""
    masses_kg, p = cloud(0)
    lifted = np.concatenate([p, np.ones((len(p), 1))], axis=-1)
    body = inertia_of_cloud(masses_kg, p)
    expected = np.einsum("n,ni,nj->ij", masses_kg, lifted, lifted)
    np.testing.assert_allclose(body.pseudo_inertia(), expected, rtol=1e-12, atol=1e-12)
    assert_same_inertia(Inertia.from_pseudo_inertia(body.pseudo_inertia()), body)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(theta=st.lists(st.floats(-1.5, 1.5), min_size=10, max_size=10))
def test_every_log_cholesky_vector_is_a_physical_body(theta: list[float]) -> None:
    """Any ten numbers make a physical body, and the body gives the numbers back."""
    body = Inertia.from_log_cholesky(np.array(theta))
    assert body.is_physical()
    np.testing.assert_allclose(body.log_cholesky(), theta, atol=1e-8)


def test_log_cholesky_of_a_body() -> None:
    """alpha is half the logarithm of the mass, t is the centre of mass, and the round trip is exact."""
    body = inertia_of_cloud(*cloud(3))
    theta = body.log_cholesky()
    assert np.exp(2.0 * theta[0]) == pytest.approx(body.mass_kg, rel=1e-13)
    np.testing.assert_allclose(theta[7:], body.p_BoBcm_B, atol=1e-13)
    assert_same_inertia(Inertia.from_log_cholesky(theta), body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (Inertia(-2.0, np.zeros(3), np.eye(3)), "the mass is -2 kg"),
        (Inertia(1.0, np.zeros(3), np.eye(3) + np.eye(3, k=1)), "opposite entries differ by 1 kg·m²"),
        (with_moments(np.array([-0.25, 1.0, 1.0])), "smallest principal moment is -0.25 kg·m²"),
        (
            with_moments(np.array([1.0, 1.0, 2.5])),
            r"2\.5 kg·m², exceeds the sum of the other two by 0\.5 kg·m²",
        ),
    ],
    ids=["mass", "symmetry", "positive", "triangle"],
)
def test_the_failing_condition_is_named_with_its_size(body: Inertia, message: str) -> None:
    """check_physical says which condition fails and by how much."""
    assert not body.is_physical()
    with pytest.raises(GemelError, match=message):
        body.check_physical()


def test_simple_solids_are_physical() -> None:
    """Box, cylinder and sphere pass; a plate without thickness passes too but has no log-Cholesky form."""
    for body in (
        Inertia.box(1.0, (1.0, 2.0, 3.0)),
        Inertia.cylinder(1.0, 0.1, 2.0),
        Inertia.sphere(1.0, 0.5),
    ):
        body.check_physical()
    plate = Inertia.box(1.0, (1.0, 2.0, 0.0))
    plate.check_physical()
    with pytest.raises(GemelError, match="not positive definite"):
        plate.log_cholesky()


def test_bad_input_is_refused() -> None:
    """Meshes that bound no solid and numbers that are not finite raise errors that say why."""
    vertices, faces = box_mesh((1.0, 1.0, 1.0))
    flipped = np.concatenate([faces[:1, ::-1], faces[1:]])
    cases = [
        ((vertices, faces[1:], 1.0), "not watertight"),
        ((vertices, flipped, 1.0), "wound in opposite directions"),
        ((vertices, faces[:, ::-1], 1.0), "look inwards: the signed volume is -1 m³"),
        ((vertices, faces, 0.0), r"density is 0\.0 kg/m³"),
    ]
    for arguments, message in cases:
        with pytest.raises(GemelError, match=message):
            Inertia.from_mesh(*arguments)
    with pytest.raises(GemelError, match=r"Inertia\.p_BoBcm_B has shape \(3,\) and 3 entries that are not finite"):
        Inertia(1.0, np.full(3, np.nan), np.eye(3))
    with pytest.raises(GemelError, match=r"mass 0\.0 kg has no centre of mass"):
        Inertia.from_pseudo_inertia(np.zeros((4, 4)))


def test_values_cannot_be_changed() -> None:
    """An inertia keeps private, read-only copies."""
    centre = np.zeros(3)
    body = Inertia(1.0, centre, np.eye(3))
    centre[0] = 5.0
    assert body.p_BoBcm_B[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        body.I_BBcm_B[0, 0] = 2.0
