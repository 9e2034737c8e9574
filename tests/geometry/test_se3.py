"""Laws of poses."""

import numpy as np
import pytest

from gemel.errors import GemelError
from gemel.geometry import SE3, SO3, se3_left_jacobian, se3_left_jacobian_inverse, stack

ANGLES_RAD = [0.0, 1e-160, 1e-12, 1e-8, 1e-4, 0.1, 0.9999, 1.0001, 2.0, np.pi - 1e-3, np.pi - 1e-8]


def poses(seed: int, *batch: int) -> SE3:
    return SE3.random(np.random.default_rng(seed), *batch)


def screws(seed: int, count: int, angle_rad: float) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((count, 6))
    rows[:, 3:] *= angle_rad / np.linalg.norm(rows[:, 3:], axis=-1, keepdims=True)
    return rows


def assert_same_pose(a: SE3, b: SE3, atol: float = 1e-13) -> None:
    np.testing.assert_allclose(a.rotation.angle_to(b.rotation), 0.0, atol=atol)
    np.testing.assert_allclose(a.translation, b.translation, atol=atol)


def test_group_axioms() -> None:
    """Composition is associative, the identity changes nothing, the inverse undoes."""
    a, b, c = (poses(seed, 200) for seed in range(3))
    assert_same_pose((a @ b) @ c, a @ (b @ c))
    assert_same_pose(a @ SE3.identity(), a)
    assert_same_pose(SE3.identity(200) @ a, a)
    assert_same_pose(a @ a.inverse(), SE3.identity(200))
    assert_same_pose((a @ b).inverse(), b.inverse() @ a.inverse())


def test_action_agrees_with_matrices() -> None:
    """Moving points and multiplying homogeneous matrices are the same thing, in the same order."""
    T_a_b, T_b_c = poses(0, 100), poses(1, 100)
    p_c = np.random.default_rng(2).standard_normal((100, 3))
    homogeneous = np.concatenate([p_c, np.ones((100, 1))], axis=-1)
    product = T_a_b.as_matrix() @ T_b_c.as_matrix()
    np.testing.assert_allclose((T_a_b @ T_b_c).as_matrix(), product, atol=1e-14)
    np.testing.assert_allclose(T_a_b @ (T_b_c @ p_c), np.einsum("nij,nj->ni", product, homogeneous)[:, :3], atol=1e-13)


@pytest.mark.parametrize("angle_rad", ANGLES_RAD)
def test_log_inverts_exp(angle_rad: float) -> None:
    """log(exp(xi)) is xi at every angle below pi."""
    xi = screws(0, 50, angle_rad)
    np.testing.assert_allclose(SE3.exp(xi).log(), xi, rtol=1e-13, atol=1e-14)


def test_exp_inverts_log() -> None:
    """exp(log(T)) is T for random poses, and for half turns."""
    T = poses(0, 500)
    assert_same_pose(SE3.exp(T.log()), T)
    half_turn = SE3(SO3.exp(np.pi * np.eye(3)), T.translation[:3])
    assert_same_pose(SE3.exp(half_turn.log()), half_turn)


def test_exp_of_a_quarter_turn_while_moving_along_x() -> None:
    """Translation comes first in xi: pi/2 m along x while turning by pi/2 about z ends at (1, 1, 0)."""
    T = SE3.exp(np.array([np.pi / 2.0, 0.0, 0.0, 0.0, 0.0, np.pi / 2.0]))
    np.testing.assert_allclose(T.translation, [1.0, 1.0, 0.0], atol=1e-15)


def test_parameter_round_trips() -> None:
    """Matrix, seven numbers, and the two parts all give the pose back."""
    T = poses(0, 3, 4)
    assert_same_pose(SE3.from_matrix(T.as_matrix()), T)
    assert_same_pose(SE3.from_wxyz_xyz(T.wxyz_xyz), T)
    assert_same_pose(SE3.from_rotation_and_translation(T.rotation, T.translation), T)
    assert T.wxyz_xyz.shape == (3, 4, 7)


def test_adjoint_law() -> None:
    """T exp(xi) T⁻¹ = exp(Ad_T xi), and adjoints multiply as poses do."""
    T, U = poses(0, 100), poses(1, 100)
    xi = screws(2, 100, 1.5)
    moved = np.einsum("nij,nj->ni", T.adjoint(), xi)
    assert_same_pose(T @ SE3.exp(xi) @ T.inverse(), SE3.exp(moved))
    np.testing.assert_allclose((T @ U).adjoint(), T.adjoint() @ U.adjoint(), atol=1e-13)


@pytest.mark.parametrize("angle_rad", [0.0, 1e-9, 1e-4, 0.3, 0.9999, 1.0001, 2.5, 3.1])
def test_left_jacobian_is_the_derivative_of_exp(angle_rad: float) -> None:
    """Column i of J is the derivative of log(exp(xi + h e_i) exp(xi)⁻¹), by central differences."""
    xi, h = screws(3, 20, angle_rad), 1e-5
    back = SE3.exp(xi).inverse()
    for i, step in enumerate(h * np.eye(6)):
        ahead, behind = (SE3.exp(xi + step) @ back).log(), (SE3.exp(xi - step) @ back).log()
        np.testing.assert_allclose(se3_left_jacobian(xi)[..., i], (ahead - behind) / (2 * h), atol=1e-8)


@pytest.mark.parametrize("angle_rad", ANGLES_RAD)
def test_left_jacobian_obeys_the_adjoint_identity(angle_rad: float) -> None:
    """J(xi) = Ad(exp(xi)) J(-xi): exact at every angle, so it also checks the series."""
    xi = screws(4, 20, angle_rad)
    np.testing.assert_allclose(se3_left_jacobian(xi), SE3.exp(xi).adjoint() @ se3_left_jacobian(-xi), atol=1e-13)


@pytest.mark.parametrize("angle_rad", ANGLES_RAD)
def test_left_jacobian_inverse(angle_rad: float) -> None:
    """The closed forms are inverse to each other."""
    xi = screws(5, 20, angle_rad)
    product = se3_left_jacobian(xi) @ se3_left_jacobian_inverse(xi)
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(6), product.shape), atol=1e-13)


def test_interpolation_has_end_points_and_constant_velocity() -> None:
    """Fraction 0 is self, 1 is other, and equal steps of the fraction are equal motions in the body frame."""
    a, b = poses(0, 50), poses(1, 50)
    assert_same_pose(a.interpolate(b, 0.0), a)
    assert_same_pose(a.interpolate(b, 1.0), b)
    way = a[:, None].interpolate(b[:, None], np.linspace(0.0, 1.0, 6))
    steps = way[:, :-1].inverse() @ way[:, 1:]
    assert_same_pose(steps, steps[:, :1] @ SE3.identity(50, 5), atol=1e-12)


def test_look_at_puts_the_target_on_the_axis_and_up_on_top() -> None:
    """The target lies at (0, 0, distance) in the camera; a point above it has negative y (y is down)."""
    rng = np.random.default_rng(0)
    eye, target = rng.standard_normal((2, 40, 3))
    up = np.array([0.0, 0.0, 1.0])
    T_camera_world = SE3.look_at(eye, target, up).inverse()
    p_camera = T_camera_world @ target
    np.testing.assert_allclose(p_camera[:, :2], 0.0, atol=1e-13)
    np.testing.assert_allclose(p_camera[:, 2], np.linalg.norm(target - eye, axis=-1), rtol=1e-13)
    above = T_camera_world @ (target + 0.1 * up)
    assert np.all(above[:, 1] < 0.0)
    np.testing.assert_allclose(above[:, 0], 0.0, atol=1e-13)


def test_look_at_from_behind_sees_right_on_the_right() -> None:
    """Looking along +x with z up, the world's -y is on the right."""
    T_world_camera = SE3.look_at(np.zeros(3), np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    expected = [[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]
    np.testing.assert_allclose(T_world_camera.rotation.as_matrix(), expected, atol=1e-15)


def test_parts_broadcast() -> None:
    """One rotation with many translations is a batch of poses."""
    T = SE3(SO3.identity(), np.ones((5, 3)))
    assert T.batch_shape == (5,)
    assert T.rotation.batch_shape == (5,)
    assert T[2:4].batch_shape == (2,)
    assert T[..., None].batch_shape == (5, 1)


def test_stack_adds_a_first_axis() -> None:
    """Stacked poses come back by index."""
    single = [poses(seed, 3) for seed in range(4)]
    stacked = stack(single)
    assert stacked.batch_shape == (4, 3)
    assert_same_pose(stacked[2], single[2])


def test_errors_name_the_problem() -> None:
    """Each refusal says what was wrong."""
    zero, up = np.zeros(3), np.array([0.0, 0.0, 1.0])
    with pytest.raises(GemelError, match="empty list of poses"):
        stack([])
    with pytest.raises(GemelError, match="eye and target coincide"):
        SE3.look_at(zero, zero, up)
    with pytest.raises(GemelError, match="parallel to the viewing direction"):
        SE3.look_at(zero, 3.0 * up, up)
    with pytest.raises(GemelError, match="bottom row"):
        SE3.from_matrix(np.ones((4, 4)))
    with pytest.raises(GemelError, match=r"\(2,\) and translations of \(3,\) do not broadcast"):
        SE3(SO3.identity(2), np.zeros((3, 3)))
    with pytest.raises(GemelError, match="NaN or infinity"):
        SE3(SO3.identity(), np.full(3, np.nan))
