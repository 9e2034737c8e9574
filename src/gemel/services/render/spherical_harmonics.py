"""Real spherical harmonics of degree 0 to 3 as Gaussian splats use them, and their rotation (numpy).

The basis is the one of the 3D Gaussian splatting file format: real, orthonormal on the sphere, with the
Condon-Shortley sign, so that Y_1 = C1 (-y, z, -x). Coefficient k of degree l runs over m = -l ... l, k = l^2 + l + m.
Colour of a Gaussian seen in direction d: rgb = max(0, 1/2 + sum_k Y_k(d) c_k).

Closed forms: Sloan, "Stupid spherical harmonics (SH) tricks", 2008, appendix A2 (constants written here from their
formulas, e.g. C0 = 1 / (2 sqrt(pi)), and tested for orthonormality).
"""

from math import isqrt, pi, sqrt

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError

C0 = 0.5 / sqrt(pi)
C1 = sqrt(3.0 / (4.0 * pi))
C2 = (
    sqrt(15.0 / (4.0 * pi)),
    -sqrt(15.0 / (4.0 * pi)),
    sqrt(5.0 / (16.0 * pi)),
    -sqrt(15.0 / (4.0 * pi)),
    sqrt(15.0 / (16.0 * pi)),
)
C3 = (
    -sqrt(35.0 / (32.0 * pi)),
    sqrt(105.0 / (4.0 * pi)),
    -sqrt(21.0 / (32.0 * pi)),
    sqrt(7.0 / (16.0 * pi)),
    -sqrt(21.0 / (32.0 * pi)),
    sqrt(105.0 / (16.0 * pi)),
    -sqrt(35.0 / (32.0 * pi)),
)


def degree_of(coefficient_count: int) -> int:
    """The degree d with (d + 1)^2 = coefficient_count, for d = 0 ... 3."""
    if coefficient_count not in (1, 4, 9, 16):
        raise ConfigError(
            f"Spherical harmonics with {coefficient_count} coefficients per channel: expected 1, 4, 9 or 16.",
            remedy="give all coefficients of degree 0, 1, 2 or 3, padded with zeros where a degree is incomplete",
        )
    return isqrt(coefficient_count) - 1


def basis(directions: Float[np.ndarray, "*batch 3"], degree: int) -> Float[np.ndarray, "*batch k"]:
    """Y_k of unit directions for all k < (degree + 1)^2."""
    x, y, z = directions[..., 0], directions[..., 1], directions[..., 2]
    values = [np.full_like(x, C0)]
    if degree > 0:
        values += [-C1 * y, C1 * z, -C1 * x]
    if degree > 1:
        values += _basis_2(x, y, z)
    if degree > 2:
        values += _basis_3(x, y, z)
    return np.stack(values, axis=-1)


def _basis_2(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
    polynomials = [x * y, y * z, 2 * z * z - x * x - y * y, x * z, x * x - y * y]
    return [c * p for c, p in zip(C2, polynomials, strict=True)]


def _basis_3(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
    polynomials = [
        y * (3 * x * x - y * y),
        x * y * z,
        y * (4 * z * z - x * x - y * y),
        z * (2 * z * z - 3 * x * x - 3 * y * y),
        x * (4 * z * z - x * x - y * y),
        z * (x * x - y * y),
        x * (x * x - 3 * y * y),
    ]
    return [c * p for c, p in zip(C3, polynomials, strict=True)]


def band_rotations(R_new_old: Float[np.ndarray, "3 3"], degree: int) -> Float[np.ndarray, "k k"]:
    """The matrix that turns coefficients when the thing they colour is turned by R_new_old; block-diagonal by degree.

    Turned colours obey f_new(d) = f_old(R^T d). Both sides are polynomials of the same degree, so demanding equality in
    enough directions determines the coefficients: the least-squares solution is exact.
    """
    directions = _spread_directions(64)
    values = basis(directions, degree)
    turned = basis(directions @ R_new_old.astype(np.float64), degree)
    matrix: Float[np.ndarray, "k k"] = np.linalg.lstsq(values, turned, rcond=None)[0]
    degrees = np.repeat(np.arange(degree + 1), 2 * np.arange(degree + 1) + 1)
    return np.where(degrees[:, None] == degrees[None, :], matrix, 0.0)


def _spread_directions(count: int) -> Float[np.ndarray, "count 3"]:
    """Evenly spread unit vectors: a Fibonacci spiral on the sphere."""
    z = (2.0 * np.arange(count) + 1.0) / count - 1.0
    angle = np.arange(count) * pi * (3.0 - sqrt(5.0))
    radius = np.sqrt(1.0 - z * z)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=-1)
