"""Rotations in three dimensions: the group SO(3), stored as unit quaternions `wxyz`.

A rotation `R_a_b` takes coordinates in frame b to coordinates in frame a: `p_a = R_a_b @ p_b`, and `R_a_c =
R_a_b @ R_b_c`. Tangent vectors are rotation vectors (axis times angle) [rad]. Everything works on batches:
the leading axes of both operands broadcast as in numpy. Formulas: Solà, Deray and Atchuthan, *A micro Lie
theory for state estimation in robotics* (2018), appendix B, with the coefficients of `series.py`.
"""

from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from jaxtyping import Float

from gemel.errors import GemelError
from gemel.geometry import series

_UNIT_TOLERANCE = 8 * np.finfo(np.float64).eps
_MIN_NORM = 1e-9
_ROTATION_MATRIX_TOLERANCE = 1e-4
"""Largest entry of |R Rᵀ - 1| accepted: float32 or text passes, scaled or sheared matrices do not."""


@dataclass(frozen=True, eq=False)
class SO3:
    """A rotation, or a batch of them. q and -q are the same rotation; the sign given is kept."""

    wxyz: Float[np.ndarray, "*batch 4"]
    """Unit quaternion, scalar first; normalised on entry, read-only."""

    def __post_init__(self) -> None:
        wxyz = np.asarray(self.wxyz, dtype=np.float64)
        norm = np.linalg.norm(wxyz, axis=-1, keepdims=True)
        if not np.all(np.isfinite(norm) & (norm > _MIN_NORM)):
            raise GemelError(
                f"A quaternion of norm {_first_bad_norm(norm)} is no rotation; a finite norm above "
                f"{_MIN_NORM} was expected.",
                remedy="Drop the samples without an orientation, or use SO3.identity() where none is meant.",
            )
        # Quaternions that are unit to rounding stay as they are: what is stored reads back bit by bit.
        unit = wxyz / np.where(np.abs(norm - 1.0) < _UNIT_TOLERANCE, 1.0, norm)
        unit.setflags(write=False)
        object.__setattr__(self, "wxyz", unit)

    @staticmethod
    def identity(*batch: int) -> "SO3":
        """The rotation that changes nothing, repeated over the batch shape."""
        return SO3(np.broadcast_to(np.array([1.0, 0.0, 0.0, 0.0]), (*batch, 4)))

    @staticmethod
    def exp(omega_rad: Float[np.ndarray, "*batch 3"]) -> "SO3":
        """Rotation by |omega| about the axis omega/|omega|."""
        omega_rad = np.asarray(omega_rad, dtype=np.float64)
        half = 0.5 * np.linalg.norm(omega_rad, axis=-1, keepdims=True)
        return SO3(np.concatenate([np.cos(half), 0.5 * series.sine_ratio(half) * omega_rad], axis=-1))

    @staticmethod
    def from_matrix(matrix: Float[np.ndarray, "*batch 3 3"]) -> "SO3":
        """Rotation from its matrix.

        The matrix determines 4 q qᵀ, whose columns are all multiples of q; the one with the largest diagonal
        entry is at least of length 2, so no angle is badly conditioned (Shepperd 1978).
        """
        matrix = np.asarray(matrix, dtype=np.float64)
        _check_rotation_matrix(matrix)
        outer = _four_times_outer_product(matrix)  # (*batch, 4, 4)
        largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
        return SO3(np.take_along_axis(outer, largest[..., None, None], axis=-1)[..., 0])

    @staticmethod
    def from_xyzw(xyzw: Float[np.ndarray, "*batch 4"]) -> "SO3":
        """Rotation from a scalar-last quaternion, as ROS and scipy write it."""
        return SO3(np.roll(xyzw, 1, axis=-1))

    @staticmethod
    def random(rng: np.random.Generator, *batch: int) -> "SO3":
        """Rotations distributed uniformly (Haar measure)."""
        return SO3(rng.standard_normal((*batch, 4)))

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch; `()` for a single rotation."""
        return self.wxyz.shape[:-1]

    def __getitem__(self, index: Any) -> "SO3":
        return SO3(self.wxyz[(*index, slice(None)) if isinstance(index, tuple) else (index, slice(None))])

    def as_matrix(self) -> Float[np.ndarray, "*batch 3 3"]:
        """Rotation matrices; their columns are the axes of b written in a."""
        w, v = self.wxyz[..., :1, None], self.wxyz[..., 1:]
        skew = hat(v)
        return np.asarray(np.eye(3) + 2.0 * w * skew + 2.0 * skew @ skew)

    def as_xyzw(self) -> Float[np.ndarray, "*batch 4"]:
        """Scalar-last quaternions."""
        return np.roll(self.wxyz, -1, axis=-1)

    def log(self) -> Float[np.ndarray, "*batch 3"]:
        """Rotation vector [rad] of length at most pi, such that `SO3.exp(R.log())` is R."""
        w, v = self.wxyz[..., :1], self.wxyz[..., 1:]
        sign = np.where(w < 0.0, -1.0, 1.0)
        norm = np.linalg.norm(v, axis=-1, keepdims=True)
        # Half angle from both sine and cosine: arccos alone loses half the digits near 0, arcsin near pi.
        half = np.arctan2(norm, np.abs(w))
        ratio = np.where(norm > 0.0, 2.0 * half / np.where(norm > 0.0, norm, 1.0), 2.0)
        return np.asarray(sign * ratio * v)

    def inverse(self) -> "SO3":
        """`R_b_a` from `R_a_b`."""
        return SO3(self.wxyz * np.array([1.0, -1.0, -1.0, -1.0]))

    def adjoint(self) -> Float[np.ndarray, "*batch 3 3"]:
        """Matrix with R exp(omega) R⁻¹ = exp(Ad omega); for rotations it is the rotation matrix."""
        return self.as_matrix()

    @overload
    def __matmul__(self, other: "SO3") -> "SO3": ...
    @overload
    def __matmul__(self, other: Float[np.ndarray, "... 3"]) -> Float[np.ndarray, "... 3"]: ...
    def __matmul__(self, other: "SO3 | Float[np.ndarray, '... 3']") -> "SO3 | Float[np.ndarray, '... 3']":
        if isinstance(other, SO3):
            return SO3(_multiply(self.wxyz, other.wxyz))
        w, v = self.wxyz[..., :1], self.wxyz[..., 1:]
        turned = 2.0 * np.cross(v, other)
        return np.asarray(other + w * turned + np.cross(v, turned))

    def interpolate(self, other: "SO3", fraction: "float | Float[np.ndarray, '...']") -> "SO3":
        """Point at `fraction` of the shortest way from self (0) to other (1), at constant angular speed."""
        omega_rad = (self.inverse() @ other).log()
        return self @ SO3.exp(np.asarray(fraction, dtype=np.float64)[..., None] * omega_rad)

    def angle_to(self, other: "SO3") -> Float[np.ndarray, "..."]:
        """Angle of the rotation between the two [rad], in [0, pi]."""
        between = (self.inverse() @ other).wxyz
        sine = np.linalg.norm(between[..., 1:], axis=-1)
        return np.asarray(2.0 * np.arctan2(sine, np.abs(between[..., 0])))


def hat(v: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3 3"]:
    """Skew matrix of a vector: hat(v) @ p is the cross product v × p."""
    x, y, z = np.moveaxis(np.asarray(v, dtype=np.float64), -1, 0)
    o = np.zeros_like(x)
    rows = [np.stack(row, axis=-1) for row in ((o, -z, y), (z, o, -x), (-y, x, o))]
    return np.stack(rows, axis=-2)


def left_jacobian(omega_rad: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3 3"]:
    """Left Jacobian J of the exponential: exp(omega + d) = exp(J d) exp(omega) to first order in d."""
    theta = np.asarray(np.linalg.norm(omega_rad, axis=-1))[..., None, None]
    skew = hat(omega_rad)
    first = series.one_minus_cosine_ratio(theta) * skew
    return np.asarray(np.eye(3) + first + series.theta_minus_sine_ratio(theta) * (skew @ skew))


def left_jacobian_inverse(omega_rad: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 3 3"]:
    """Inverse of `left_jacobian`; exists for |omega| < 2 pi."""
    theta = np.asarray(np.linalg.norm(omega_rad, axis=-1))[..., None, None]
    skew = hat(omega_rad)
    second = series.inverse_jacobian_ratio(theta) * (skew @ skew)
    return np.asarray(np.eye(3) - 0.5 * skew + second)


def _multiply(a: Float[np.ndarray, "... 4"], b: Float[np.ndarray, "... 4"]) -> Float[np.ndarray, "... 4"]:
    """Hamilton product of two `wxyz` quaternions."""
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    w = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([w, aw * bv + bw * av + np.cross(av, bv)], axis=-1)


def _four_times_outer_product(matrix: Float[np.ndarray, "*batch 3 3"]) -> Float[np.ndarray, "*batch 4 4"]:
    """4 q qᵀ (order wxyz) of the quaternion of a rotation matrix; linear in the matrix."""
    trace = np.trace(matrix, axis1=-2, axis2=-1)[..., None, None]
    vector_block = matrix + np.swapaxes(matrix, -1, -2) + (1.0 - trace) * np.eye(3)
    skew = matrix - np.swapaxes(matrix, -1, -2)
    mixed = np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1)  # (*batch, 3)
    top = np.concatenate([1.0 + trace, mixed[..., None, :]], axis=-1)
    return np.concatenate([top, np.concatenate([mixed[..., None], vector_block], axis=-1)], axis=-2)


def _check_rotation_matrix(matrix: Float[np.ndarray, "*batch 3 3"]) -> None:
    """Refuse matrices that scale, shear or mirror."""
    error = np.max(np.abs(matrix @ np.swapaxes(matrix, -1, -2) - np.eye(3)), initial=0.0)
    with np.errstate(invalid="ignore"):  # NaN is reported through `error`
        has_mirror = bool(np.any(np.linalg.det(matrix) < 0.0))
    if error <= _ROTATION_MATRIX_TOLERANCE and not has_mirror:
        return
    raise GemelError(
        f"A rotation matrix was expected; max |R Rᵀ - 1| is {error:.3g} "
        f"(at most {_ROTATION_MATRIX_TOLERANCE} allowed) and "
        f"{'at least one' if has_mirror else 'no'} determinant is negative.",
        remedy="Remove scale and mirroring first, or check whether rows and columns were mixed up.",
    )


def _first_bad_norm(norm: Float[np.ndarray, "*batch 1"]) -> float:
    """The norm that the message reports."""
    return float(norm[~(np.isfinite(norm) & (norm > _MIN_NORM))][0])
