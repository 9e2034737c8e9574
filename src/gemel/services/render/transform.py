"""Rigid motion and uniform scale of Gaussians: positions, rotations, sizes and the colours' spherical harmonics."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gemel.artifacts.gaussians import Gaussians
from gemel.errors import GemelError
from gemel.services.render.spherical_harmonics import band_rotations


def transform_gaussians(gaussians: Gaussians, T_new_old: Float[np.ndarray, "4 4"], *, scale: float = 1.0) -> Gaussians:
    """The same Gaussians in another frame: p_new = T_new_old (scale * p_old).

    `scale` changes the unit of length first (new metres per old unit). SH bands are turned with the rotation. Extras
    stay as they are; rotate those that are directions, such as normals, yourself.
    """
    R_new_old = _checked_rotation(T_new_old)
    if not 0.0 < scale < float("inf"):
        raise GemelError(f"Scale is {scale}: expected a positive number.", remedy="give new metres per old unit")
    means = scale * gaussians.means.astype(np.float64) @ R_new_old.T + T_new_old[:3, 3]
    turn = band_rotations(R_new_old, gaussians.sh_degree)
    return replace(
        gaussians,
        means=means.astype(gaussians.means.dtype),
        rotations=_turned(R_new_old, gaussians.rotations).astype(gaussians.rotations.dtype),
        scales=(gaussians.scales * np.float64(scale)).astype(gaussians.scales.dtype),
        sh=np.einsum("kj,njc->nkc", turn, gaussians.sh.astype(np.float64)).astype(gaussians.sh.dtype),
    )


def _checked_rotation(T_new_old: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "3 3"]:
    R = np.asarray(T_new_old, dtype=np.float64)[:3, :3]
    is_rotation = T_new_old.shape == (4, 4) and np.abs(R @ R.T - np.eye(3)).max() < 1e-5 and np.linalg.det(R) > 0
    if not is_rotation:
        raise GemelError(
            f"T_new_old is not a rigid transform:\n{T_new_old}",
            remedy="give a 4x4 matrix of rotation and translation; a change of units goes into `scale`",
        )
    return R


def _turned(R: Float[np.ndarray, "3 3"], rotations: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, "n 4"]:
    """Quaternions wxyz of R times each rotation; the zero quaternion counts as the identity."""
    q = rotations.astype(np.float64)
    q = np.where(np.abs(q).max(axis=1, keepdims=True) > 0.0, q, [1.0, 0.0, 0.0, 0.0])
    w, v = _quaternion(R)
    real = w * q[:, 0] - q[:, 1:] @ v
    imaginary = w * q[:, 1:] + q[:, :1] * v + np.cross(v, q[:, 1:])
    return np.concatenate([real[:, None], imaginary], axis=1)


def _quaternion(R: Float[np.ndarray, "3 3"]) -> tuple[float, Float[np.ndarray, "3"]]:
    """Real and imaginary part of a rotation's unit quaternion: the main eigenvector of Bar-Itzhack's 4x4 matrix."""
    d = np.trace(R)
    skew = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    K = np.block([[np.array([[d]]), skew[None]], [skew[:, None], R + R.T - d * np.eye(3)]])
    main = np.linalg.eigh(K)[1][:, -1]
    return float(main[0]), main[1:]
