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
