"""Laws of rotations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gemel.errors import GemelError
from gemel.geometry import SO3, hat, so3_left_jacobian, so3_left_jacobian_inverse

ANGLES_RAD = [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-5, 1e-3, 0.1, 0.999, 1.0, 2.0, 3.0]
ANGLES_RAD += [np.pi - 1e-3, np.pi - 1e-8, np.pi - 1e-12, np.pi]


def rotations(seed: int, *batch: int) -> SO3:
    return SO3.random(np.random.default_rng(seed), *batch)


def axes(seed: int, count: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, 3))
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def assert_same_rotation(a: SO3, b: SO3, atol_rad: float = 1e-14) -> None:
    np.testing.assert_allclose(a.angle_to(b), 0.0, atol=atol_rad)


def test_group_axioms() -> None:
    """Composition is associative, the identity changes nothing, the inverse undoes."""
    a, b, c = (rotations(seed, 200) for seed in range(3))
    assert_same_rotation((a @ b) @ c, a @ (b @ c))
    assert_same_rotation(a @ SO3.identity(200), a)
    assert_same_rotation(SO3.identity() @ a, a)
    assert_same_rotation(a @ a.inverse(), SO3.identity(200))
    assert_same_rotation((a @ b).inverse(), b.inverse() @ a.inverse())


def test_action_agrees_with_matrices() -> None:
    """Rotating points, composing rotations and multiplying matrices are the same thing."""
    a, b = rotations(0, 100), rotations(1, 100)
    p = np.random.default_rng(2).standard_normal((100, 3))
    np.testing.assert_allclose(a @ p, np.einsum("nij,nj->ni", a.as_matrix(), p), atol=1e-14)
    np.testing.assert_allclose((a @ b).as_matrix(), a.as_matrix() @ b.as_matrix(), atol=1e-14)
    np.testing.assert_allclose((a @ b) @ p, a @ (b @ p), atol=1e-14)


def test_a_rotation_about_z_turns_x_to_y() -> None:
    """The sense of rotation is right-handed."""
    turned = SO3.exp(np.array([0.0, 0.0, np.pi / 2.0])) @ np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(turned, [0.0, 1.0, 0.0], atol=1e-15)


@pytest.mark.parametrize("angle_rad", ANGLES_RAD)
def test_log_inverts_exp(angle_rad: float) -> None:
    """log(exp(omega)) is omega to full relative precision at every angle up to pi."""
    omega_rad = angle_rad * axes(0, 50)
    recovered = SO3.exp(omega_rad).log()
    # At pi itself omega and -omega are the same rotation; compare up to sign there.
    if angle_rad > np.pi - 1e-9:
        recovered *= np.sign(np.sum(recovered * omega_rad, axis=-1, keepdims=True))
    np.testing.assert_allclose(recovered, omega_rad, rtol=1e-13, atol=2e-15 * angle_rad)


def test_exp_inverts_log() -> None:
    """exp(log(R)) is R, for random rotations and for both signs of the quaternion."""
    R = rotations(0, 500)
    assert_same_rotation(SO3.exp(R.log()), R)
    np.testing.assert_allclose(SO3(-R.wxyz).log(), R.log(), atol=1e-14)
    assert np.all(np.linalg.norm(R.log(), axis=-1) <= np.pi)


@pytest.mark.parametrize("angle_rad", ANGLES_RAD)
def test_matrix_round_trip(angle_rad: float) -> None:
    """from_matrix inverts as_matrix, also where trace formulas break down near pi."""
    R = SO3.exp(angle_rad * np.concatenate([axes(1, 50), np.eye(3), -np.eye(3)]))
    assert_same_rotation(SO3.from_matrix(R.as_matrix()), R, atol_rad=1e-14)


def test_matrices_are_orthonormal() -> None:
    """Rotation matrices preserve lengths and orientation."""
    M = rotations(0, 200).as_matrix()
    np.testing.assert_allclose(M @ np.swapaxes(M, -1, -2), np.broadcast_to(np.eye(3), M.shape), atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(M), 1.0, atol=1e-14)


def test_xyzw_is_scalar_last() -> None:
    """The scalar moves to the end and back."""
    R = rotations(0, 10)
    np.testing.assert_array_equal(R.as_xyzw()[:, 3], R.wxyz[:, 0])
    assert_same_rotation(SO3.from_xyzw(R.as_xyzw()), R)


def test_adjoint_law() -> None:
    """R exp(omega) R⁻¹ = exp(Ad_R omega)."""
    R = rotations(0, 100)
    omega_rad = np.random.default_rng(1).standard_normal((100, 3))
    moved = np.einsum("nij,nj->ni", R.adjoint(), omega_rad)
    assert_same_rotation(R @ SO3.exp(omega_rad) @ R.inverse(), SO3.exp(moved))


@pytest.mark.parametrize("angle_rad", [0.0, 1e-9, 1e-4, 0.3, 0.9999, 1.0001, 2.5, np.pi])
def test_left_jacobian_is_the_derivative_of_exp(angle_rad: float) -> None:
    """Column i of J is the derivative of log(exp(omega + h e_i) exp(omega)⁻¹), by central differences."""
    omega_rad, h = angle_rad * axes(3, 20), 1e-5
    for i, step in enumerate(h * np.eye(3)):
        back = SO3.exp(omega_rad).inverse()
        ahead, behind = (SO3.exp(omega_rad + step) @ back).log(), (SO3.exp(omega_rad - step) @ back).log()
        np.testing.assert_allclose(so3_left_jacobian(omega_rad)[..., i], (ahead - behind) / (2 * h), atol=1e-9)


@pytest.mark.parametrize("angle_rad", [*ANGLES_RAD, 5.0])
def test_left_jacobian_inverse(angle_rad: float) -> None:
    """The two closed forms are inverse to each other at every angle below 2 pi."""
    omega_rad = angle_rad * axes(4, 20)
    product = so3_left_jacobian(omega_rad) @ so3_left_jacobian_inverse(omega_rad)
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(3), product.shape), atol=1e-14)


def test_left_jacobian_is_continuous_where_the_formula_changes() -> None:
    """Series and closed form agree at their common border to rounding."""
    border = axes(5, 20)
    below, above = so3_left_jacobian(border * (1 - 1e-15)), so3_left_jacobian(border * (1 + 1e-15))
    np.testing.assert_allclose(below, above, atol=1e-14)


def test_hat_is_the_cross_product() -> None:
    """hat(v) p = v × p."""
    v, p = np.random.default_rng(0).standard_normal((2, 30, 3))
    np.testing.assert_allclose(np.einsum("nij,nj->ni", hat(v), p), np.cross(v, p), atol=1e-15)


def test_interpolation_has_end_points_and_constant_speed() -> None:
    """Fraction 0 is self, 1 is other, and the angle covered grows in proportion to the fraction."""
    a, b = rotations(0, 50), rotations(1, 50)
    assert_same_rotation(a.interpolate(b, 0.0), a)
    assert_same_rotation(a.interpolate(b, 1.0), b)
    fractions = np.linspace(0.0, 1.0, 11)
    way = a[:, None].interpolate(b[:, None], fractions)
    expected = fractions * a.angle_to(b)[:, None]
    np.testing.assert_allclose(a[:, None].angle_to(way), expected, atol=1e-13)


def test_batches_broadcast_and_index_like_arrays() -> None:
    """Leading axes follow numpy; indexing touches the batch only."""
    a, b = rotations(0, 4, 1), rotations(1, 5)
    assert (a @ b).batch_shape == (4, 5)
    assert (a @ np.ones((4, 5, 3))).shape == (4, 5, 3)
    assert (a @ b)[1].batch_shape == (5,)
    assert (a @ b)[..., None].batch_shape == (4, 5, 1)
    assert (a @ b)[1, 2].batch_shape == ()
    assert_same_rotation((a @ b)[1, 2], a[1, 0] @ b[2])
    with pytest.raises(IndexError):
        rotations(0)[0]


def test_values_cannot_be_changed() -> None:
    """A rotation keeps a private, read-only copy of what it was given."""
    wxyz = np.array([1.0, 0.0, 0.0, 0.0])
    R = SO3(wxyz)
    wxyz[:] = 7.0
    np.testing.assert_array_equal(R.wxyz, [1.0, 0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        R.wxyz[0] = 2.0


@settings(max_examples=50, deadline=None, derandomize=True)
@given(scale=st.floats(1e-6, 1e6), seed=st.integers(0, 1000))
def test_quaternions_are_normalised(scale: float, seed: int) -> None:
    """The length of the quaternion given has no meaning."""
    R = rotations(seed)
    np.testing.assert_allclose(SO3(scale * R.wxyz).wxyz, R.wxyz, atol=1e-15)


@pytest.mark.parametrize("bad", [[0.0, 0.0, 0.0, 0.0], [np.nan, 0.0, 0.0, 1.0], [np.inf, 0.0, 0.0, 1.0]])
def test_quaternions_without_direction_are_refused(bad: list[float]) -> None:
    """Zero and non-finite quaternions raise an error that says what to do."""
    with pytest.raises(GemelError, match=r"is no rotation(.|\n)*What to do: Drop the samples"):
        SO3(np.array([[1.0, 0.0, 0.0, 0.0], bad]))


@pytest.mark.parametrize("bad", [2.0 * np.eye(3), np.diag([1.0, 1.0, -1.0]), np.full((3, 3), np.nan)])
def test_matrices_that_are_no_rotation_are_refused(bad: np.ndarray) -> None:
    """Scaled, mirrored and NaN matrices raise an error."""
    with pytest.raises(GemelError, match="A rotation matrix was expected"):
        SO3.from_matrix(bad)


def test_random_rotations_are_uniform() -> None:
    """The mean matrix of many random rotations vanishes within five standard errors (entries vary by 1/3)."""
    count = 20_000
    mean = rotations(0, count).as_matrix().mean(axis=0)
    np.testing.assert_allclose(mean, 0.0, atol=5.0 * np.sqrt(1.0 / 3.0 / count))
