"""Poses: the group SE(3) of rigid motions, a rotation and a translation.

A pose `T_a_b` takes coordinates in frame b to coordinates in frame a: `p_a = T_a_b @ p_b`, and `T_a_c =
T_a_b @ T_b_c`. Tangent vectors `xi` hold the **translation part first** [m], then the rotation part [rad];
adjoints and Jacobians use the same order. Leading axes broadcast as in numpy. Formulas: Barfoot, *State
Estimation for Robotics* (2017), section 7.1, with the coefficients of `series.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from jaxtyping import Float

from gemel.errors import GemelError
from gemel.geometry import series, so3
from gemel.geometry.so3 import SO3, hat

_BOTTOM_ROW_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class SE3:
    """A pose, or a batch of them; the batches of rotation and translation broadcast to a common shape."""

    rotation: SO3
    """`R_a_b`."""
    translation: Float[np.ndarray, "*batch 3"]
    """Origin of b in a [m]; read-only."""

    def __post_init__(self) -> None:
        translation = np.array(self.translation, dtype=np.float64)
        if not np.all(np.isfinite(translation)):
            raise GemelError(
                "The translation of a pose holds NaN or infinity; finite metres were expected.",
                remedy="Drop the samples without a position before building poses.",
            )
        batch = _common_batch(self.rotation.batch_shape, translation.shape[:-1])
        if self.rotation.batch_shape != batch:
            object.__setattr__(self, "rotation", SO3(np.broadcast_to(self.rotation.wxyz, (*batch, 4))))
        translation = np.broadcast_to(translation, (*batch, 3))
        translation.setflags(write=False)
        object.__setattr__(self, "translation", translation)

    @staticmethod
    def identity(*batch: int) -> "SE3":
        """The motion that changes nothing, repeated over the batch shape."""
        return SE3(SO3.identity(*batch), np.zeros((*batch, 3)))

    @staticmethod
    def exp(xi: Float[np.ndarray, "*batch 6"]) -> "SE3":
        """Motion along the screw `xi` (translation part first, then rotation) for unit time."""
        xi = np.asarray(xi, dtype=np.float64)
        rho, omega_rad = xi[..., :3], xi[..., 3:]
        return SE3(SO3.exp(omega_rad), _apply(so3.left_jacobian(omega_rad), rho))

    @staticmethod
    def from_matrix(matrix: Float[np.ndarray, "*batch 4 4"]) -> "SE3":
        """Pose from a homogeneous matrix with bottom row (0, 0, 0, 1)."""
        matrix = np.asarray(matrix, dtype=np.float64)
        error = np.max(np.abs(matrix[..., 3, :] - np.array([0.0, 0.0, 0.0, 1.0])), initial=0.0)
        if not error <= _BOTTOM_ROW_TOLERANCE:
            raise GemelError(
                f"The bottom row of a pose matrix differs from (0, 0, 0, 1) by {error:.3g}.",
                remedy="Give a rigid motion; if the matrix is stored by columns, transpose it.",
            )
        return SE3(SO3.from_matrix(matrix[..., :3, :3]), matrix[..., :3, 3])

    @staticmethod
    def from_wxyz_xyz(wxyz_xyz: Float[np.ndarray, "*batch 7"]) -> "SE3":
        """Pose from quaternion (scalar first) and translation [m] in one row."""
        return SE3(SO3(wxyz_xyz[..., :4]), wxyz_xyz[..., 4:])

    @staticmethod
    def from_rotation_and_translation(rotation: SO3, translation: Float[np.ndarray, "*batch 3"]) -> "SE3":
        """Pose from its two parts."""
        return SE3(rotation, translation)

    @staticmethod
    def look_at(
        eye: Float[np.ndarray, "... 3"], target: Float[np.ndarray, "... 3"], up: Float[np.ndarray, "... 3"]
    ) -> "SE3":
        """`T_world_camera` of a camera at `eye` that looks at `target`; all three in world coordinates.

        Camera axes: x right, y down, z forward; the image's upward direction is as close to `up` as it can
        be.
        """
        forward = _unit(np.asarray(target - eye, dtype=np.float64), "eye and target coincide")
        right = _unit(np.cross(forward, up), "`up` is parallel to the viewing direction")
        down = np.cross(forward, right)
        return SE3(SO3.from_matrix(np.stack(np.broadcast_arrays(right, down, forward), axis=-1)), eye)

    @staticmethod
    def random(rng: np.random.Generator, *batch: int) -> "SE3":
        """Uniform rotations with standard normal translations [m]."""
        return SE3(SO3.random(rng, *batch), rng.standard_normal((*batch, 3)))

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch; `()` for a single pose."""
        return self.translation.shape[:-1]

    @property
    def wxyz_xyz(self) -> Float[np.ndarray, "*batch 7"]:
        """Quaternion (scalar first) and translation [m] in one row."""
        return np.concatenate([self.rotation.wxyz, self.translation], axis=-1)

    def __getitem__(self, index: Any) -> "SE3":
        rows = (*index, slice(None)) if isinstance(index, tuple) else (index, slice(None))
        return SE3(self.rotation[index], self.translation[rows])

    def as_matrix(self) -> Float[np.ndarray, "*batch 4 4"]:
        """Homogeneous matrices."""
        matrix = np.zeros((*self.batch_shape, 4, 4))
        matrix[..., :3, :3] = self.rotation.as_matrix()
        matrix[..., :3, 3] = self.translation
        matrix[..., 3, 3] = 1.0
        return matrix

    def log(self) -> Float[np.ndarray, "*batch 6"]:
        """Screw `xi` (translation part first) with rotation angle at most pi and `SE3.exp(xi)` = self."""
        omega_rad = self.rotation.log()
        rho = _apply(so3.left_jacobian_inverse(omega_rad), self.translation)
        return np.concatenate([rho, omega_rad], axis=-1)

    def inverse(self) -> "SE3":
        """`T_b_a` from `T_a_b`."""
        back = self.rotation.inverse()
        return SE3(back, -(back @ self.translation))

    def adjoint(self) -> Float[np.ndarray, "*batch 6 6"]:
        """Matrix with T exp(xi) T⁻¹ = exp(Ad xi)."""
        R = self.rotation.as_matrix()
        return _block_triangular(R, hat(self.translation) @ R)

    @overload
    def __matmul__(self, other: "SE3") -> "SE3": ...
    @overload
    def __matmul__(self, other: Float[np.ndarray, "... 3"]) -> Float[np.ndarray, "... 3"]: ...
    def __matmul__(self, other: "SE3 | Float[np.ndarray, '... 3']") -> "SE3 | Float[np.ndarray, '... 3']":
        if isinstance(other, SE3):
            moved = self.rotation @ other.translation + self.translation
            return SE3(self.rotation @ other.rotation, moved)
        return np.asarray(self.rotation @ other + self.translation)

    def interpolate(self, other: "SE3", fraction: "float | Float[np.ndarray, '...']") -> "SE3":
        """Pose at `fraction` of the screw motion from self (0) to other (1), at constant body velocity."""
        xi = (self.inverse() @ other).log()
        return self @ SE3.exp(np.asarray(fraction, dtype=np.float64)[..., None] * xi)


def stack(poses: Sequence[SE3]) -> SE3:
    """One batch with a new first axis from poses of equal batch shape."""
    if not poses:
        raise GemelError(
            "An empty list of poses cannot be stacked; at least one was expected.",
            remedy="Use SE3.identity(0) where a batch of length zero is meant.",
        )
    wxyz = np.stack([pose.rotation.wxyz for pose in poses])
    return SE3(SO3(wxyz), np.stack([pose.translation for pose in poses]))


def left_jacobian(xi: Float[np.ndarray, "*batch 6"]) -> Float[np.ndarray, "*batch 6 6"]:
    """Left Jacobian J of the exponential: exp(xi + d) = exp(J d) exp(xi) to first order in d."""
    return _block_triangular(so3.left_jacobian(xi[..., 3:]), _coupling(xi))


def left_jacobian_inverse(xi: Float[np.ndarray, "*batch 6"]) -> Float[np.ndarray, "*batch 6 6"]:
    """Inverse of `left_jacobian`; exists for rotation angles below 2 pi."""
    inverse = so3.left_jacobian_inverse(xi[..., 3:])
    return _block_triangular(inverse, -inverse @ _coupling(xi) @ inverse)


def _coupling(xi: Float[np.ndarray, "*batch 6"]) -> Float[np.ndarray, "*batch 3 3"]:
    """The block Q by which rotation changes translate, Barfoot (2017), equation 7.86b."""
    P, W = hat(xi[..., :3]), hat(xi[..., 3:])
    theta = np.asarray(np.linalg.norm(xi[..., 3:], axis=-1))[..., None, None]
    WP, PW, WPW = W @ P, P @ W, W @ P @ W
    return np.asarray(
        0.5 * P
        + series.theta_minus_sine_ratio(theta) * (WP + PW + WPW)
        + series.cosine_remainder_ratio(theta) * (W @ WP + PW @ W - 3.0 * WPW)
        + series.mixed_remainder_ratio(theta) * (WPW @ W + W @ WPW)
    )


def _apply(
    matrix: Float[np.ndarray, "*batch 3 3"], vector: Float[np.ndarray, "*batch 3"]
) -> Float[np.ndarray, "*batch 3"]:
    """Matrix times vector, over the batch."""
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _block_triangular(
    diagonal: Float[np.ndarray, "*batch 3 3"], corner: Float[np.ndarray, "*batch 3 3"]
) -> Float[np.ndarray, "*batch 6 6"]:
    """[[diagonal, corner], [0, diagonal]]."""
    top = np.concatenate([diagonal, corner], axis=-1)
    bottom = np.concatenate([np.zeros_like(diagonal), diagonal], axis=-1)
    return np.concatenate([top, bottom], axis=-2)


def _unit(vector: Float[np.ndarray, "*batch 3"], reason_if_zero: str) -> Float[np.ndarray, "*batch 3"]:
    """The vector at length 1; an error where it has none."""
    norm = np.linalg.norm(vector, axis=-1, keepdims=True)
    if not np.all(norm > 1e-12):
        raise GemelError(
            f"No viewing direction is defined: {reason_if_zero}.",
            remedy="Move the target away from the eye, or choose another `up` vector.",
        )
    return np.asarray(vector / norm)


def _common_batch(rotation: tuple[int, ...], translation: tuple[int, ...]) -> tuple[int, ...]:
    """Broadcast shape of the two parts of a pose."""
    try:
        return np.broadcast_shapes(rotation, translation)
    except ValueError:
        raise GemelError(
            f"Rotations of batch shape {rotation} and translations of {translation} do not broadcast.",
            remedy="Give one of each per pose, or a single one of either.",
        ) from None
