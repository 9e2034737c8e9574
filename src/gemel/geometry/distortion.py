"""Lens distortion in the normalised image plane, its Jacobian and its inverse.

Two families cover the lenses met on robots: `RationalDistortion` (OpenCV's standard model, which holds the
plain radial-tangential one as a special case) and `EquidistantDistortion` (OpenCV's fisheye model, Kannala
and Brandt 2006). Both are one-to-one only up to a limit where the radial curve stops growing; beyond it the
polynomial folds back and would place far points inside the image. Nothing is mapped beyond that limit: the
answer there is NaN.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.polynomial import polynomial as poly

_MAX_STEPS = 60
_MAX_DOUBLINGS = 20
_JUST_INSIDE = 1.0 - 1e-9
_SETTLED = 1e-14
ACCEPTED_RESIDUAL = 1e-9
"""An inverse counts as found when mapping it forward lands within this distance, in the normalised plane."""

Plane = Float[np.ndarray, "*batch 2"]
Angles = Float[np.ndarray, "*batch"]
Curve = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class RationalDistortion:
    """Rational radial and tangential distortion.

    The radial factor is (1 + k1 s + k2 s² + k3 s³) / (1 + k4 s + k5 s² + k6 s³) with s = x² + y²; p1 and p2
    are tangential. Source: OpenCV, "Camera Calibration and 3D Reconstruction", detailed description.
    """

    k1: float
    k2: float
    p1: float
    p2: float
    k3: float
    k4: float
    k5: float
    k6: float

    @property
    def _numerator(self) -> tuple[float, ...]:
        return (1.0, self.k1, self.k2, self.k3)

    @property
    def _denominator(self) -> tuple[float, ...]:
        return (1.0, self.k4, self.k5, self.k6)

    @cached_property
    def _slope_numerator(self) -> Float[np.ndarray, "term"]:
        """N D + 2 s (N' D - N D'): the slope of r N(r²)/D(r²) times D², as a polynomial in s = r²."""
        N, D = self._numerator, self._denominator
        bend = poly.polysub(poly.polymul(poly.polyder(N), D), poly.polymul(N, poly.polyder(D)))
        return np.asarray(poly.polyadd(poly.polymul(N, D), 2.0 * poly.polymulx(bend)))

    @cached_property
    def limit_radius(self) -> float:
        """Radius, undistorted, where the radial curve r N(r²)/D(r²) stops growing; inf if never."""
        turning_point = smallest_positive_root(self._slope_numerator)
        pole = smallest_positive_root(np.array(self._denominator))
        return float(np.sqrt(min(turning_point, pole)))

    def distort(self, xy: Plane) -> Plane:
        """Where the lens puts the point that a pinhole would put at `xy`; NaN from the limit radius on."""
        is_inside = np.linalg.norm(xy, axis=-1, keepdims=True) < self.limit_radius
        return self._distort_anywhere(np.where(is_inside, xy, np.nan))

    def _distort_anywhere(self, xy: Plane) -> Plane:
        x, y = xy[..., 0], xy[..., 1]
        s = x**2 + y**2
        radial = poly.polyval(s, self._numerator) / poly.polyval(s, self._denominator)
        x_distorted = x * radial + 2.0 * self.p1 * x * y + self.p2 * (s + 2.0 * x**2)
        y_distorted = y * radial + self.p1 * (s + 2.0 * y**2) + 2.0 * self.p2 * x * y
        return np.stack([x_distorted, y_distorted], axis=-1)

    def jacobian(self, xy: Plane) -> Float[np.ndarray, "*batch 2 2"]:
        """Derivative of `distort`; symmetric, since the map is the gradient of a potential."""
        x, y = xy[..., 0], xy[..., 1]
        s = x**2 + y**2
        N, D = poly.polyval(s, self._numerator), poly.polyval(s, self._denominator)
        dN = poly.polyval(s, poly.polyder(self._numerator))
        dD = poly.polyval(s, poly.polyder(self._denominator))
        radial, slope = N / D, (dN * D - N * dD) / D**2
        xx = radial + 2.0 * x**2 * slope + 2.0 * self.p1 * y + 6.0 * self.p2 * x
        yy = radial + 2.0 * y**2 * slope + 6.0 * self.p1 * y + 2.0 * self.p2 * x
        xy_entry = 2.0 * x * y * slope + 2.0 * self.p1 * x + 2.0 * self.p2 * y
        return np.stack([np.stack([xx, xy_entry], axis=-1), np.stack([xy_entry, yy], axis=-1)], axis=-2)

    def undistort(self, xy_distorted: Plane) -> Plane:
        """Inverse of `distort`; NaN where no point inside the limit radius maps here.

        The radial part alone is solved first; Newton's method then adds the tangential part.
        """
        xy = self._undistort_radially(xy_distorted)
        for _ in range(_MAX_STEPS):
            residual = self._distort_anywhere(xy) - xy_distorted
            if _is_settled(residual):
                break
            xy = self._pull_inside(xy - _solve_symmetric(self.jacobian(xy), residual))
        error = np.linalg.norm(self.distort(xy) - xy_distorted, axis=-1, keepdims=True)
        return np.where(error < ACCEPTED_RESIDUAL, xy, np.nan)

    def _undistort_radially(self, xy_distorted: Plane) -> Plane:
        """Inverse of the radial part; a guess where only the tangential part reaches this far out."""
        radius = np.linalg.norm(xy_distorted, axis=-1, keepdims=True)
        undistorted = invert_increasing(self._radial_curve, self._radial_slope, radius, self.limit_radius)
        if np.isfinite(self.limit_radius):
            largest = self._radial_curve(np.array(_JUST_INSIDE * self.limit_radius))
            tangential_reach = 3.0 * (abs(self.p1) + abs(self.p2)) * self.limit_radius**2
            is_near = np.isnan(undistorted) & (radius < largest + tangential_reach)
            undistorted = np.where(is_near, 0.9 * self.limit_radius, undistorted)
        return np.asarray(undistorted * xy_distorted / np.where(radius > 0.0, radius, 1.0))

    def _radial_curve(self, r: Angles) -> Angles:
        return np.asarray(r * poly.polyval(r**2, self._numerator) / poly.polyval(r**2, self._denominator))

    def _radial_slope(self, r: Angles) -> Angles:
        D = poly.polyval(r**2, self._denominator)
        return np.asarray(poly.polyval(r**2, self._slope_numerator) / D**2)

    def _pull_inside(self, xy: Plane) -> Plane:
        """Points beyond the limit radius, brought just inside it: Newton must stay on the right branch."""
        if not np.isfinite(self.limit_radius):
            return xy
        radius = np.linalg.norm(xy, axis=-1, keepdims=True)
        allowed = _JUST_INSIDE * self.limit_radius
        return np.asarray(xy * np.minimum(1.0, allowed / np.maximum(radius, 1e-300)))


@dataclass(frozen=True)
class EquidistantDistortion:
    """Image radius t (1 + k1 t² + k2 t⁴ + k3 t⁶ + k4 t⁸) of a ray at angle t [rad] to the axis."""

    k1: float
    k2: float
    k3: float
    k4: float

    @property
    def _even(self) -> tuple[float, ...]:
        return (1.0, self.k1, self.k2, self.k3, self.k4)

    @cached_property
    def limit_angle_rad(self) -> float:
        """Angle where the image radius stops growing, at most pi."""
        slope = np.array(self._even) * np.array([1.0, 3.0, 5.0, 7.0, 9.0])
        return float(min(np.pi, np.sqrt(smallest_positive_root(slope))))

    def distort(self, theta_rad: Angles) -> Angles:
        """Image radius in the normalised plane of a ray at `theta_rad` >= 0; NaN from the limit angle on."""
        radius = theta_rad * poly.polyval(theta_rad**2, self._even)
        return np.where(theta_rad < self.limit_angle_rad, radius, np.nan)

    def slope(self, theta_rad: Angles) -> Angles:
        """Derivative of `distort`; positive below the limit angle."""
        coefficients = np.array(self._even) * np.array([1.0, 3.0, 5.0, 7.0, 9.0])
        return np.asarray(poly.polyval(theta_rad**2, coefficients))

    def undistort(self, radius: Angles) -> Angles:
        """Angle [rad] of the ray seen at `radius`; NaN where no angle below the limit fits."""
        return invert_increasing(self.distort, self.slope, radius, self.limit_angle_rad)


def invert_increasing(curve: Curve, slope: Curve, value: Angles, limit: float) -> Angles:
    """The x in [0, limit) with curve(x) = value, for a curve growing from 0 up to `limit`; NaN if none.

    Newton's method inside a bracket: a step that would leave the bracket is replaced by halving it, so a
    curve that bends both ways cannot throw it off.
    """
    high = _bracket_end(curve, value, limit)
    low, x = np.zeros_like(value), np.minimum(value, high)
    for _ in range(_MAX_STEPS):
        residual = curve(x) - value
        if _is_settled(residual):
            break
        low, high = np.where(residual < 0.0, x, low), np.where(residual > 0.0, x, high)
        newton = x - residual / slope(x)
        x = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
    return np.where(np.abs(curve(x) - value) < ACCEPTED_RESIDUAL, x, np.nan)


def _bracket_end(curve: Curve, value: Angles, limit: float) -> Angles:
    """An x below the limit where the curve is at least `value`, by doubling; NaN where there is none."""
    end = np.minimum(np.ones_like(value), _JUST_INSIDE * limit)
    for _ in range(_MAX_DOUBLINGS):
        is_short = curve(end) < value
        if not is_short.any():
            break
        end = np.where(is_short, np.minimum(2.0 * end, _JUST_INSIDE * limit), end)
    return np.where(curve(end) >= value, end, np.nan)


def _is_settled(residual: Float[np.ndarray, "..."]) -> bool:
    """Whether all residuals that are numbers have vanished."""
    return bool(np.max(np.abs(residual), initial=0.0, where=np.isfinite(residual)) < _SETTLED)


def smallest_positive_root(coefficients: Float[np.ndarray, "term"]) -> float:
    """Smallest positive real root of the polynomial sum of c_k s^k; infinity where it has none."""
    roots = poly.polyroots(np.trim_zeros(np.asarray(coefficients), "b"))
    is_real = np.abs(roots.imag) < 1e-9 * (1.0 + np.abs(roots))
    return float(np.min(roots.real[is_real & (roots.real > 0.0)], initial=np.inf))


def _solve_symmetric(matrix: Float[np.ndarray, "*batch 2 2"], right: Plane) -> Plane:
    """Solution of symmetric 2×2 systems; a zero step where the matrix is singular."""
    a, b, d = matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 1]
    determinant = a * d - b * b
    scale = np.where(determinant == 0.0, 0.0, 1.0 / np.where(determinant == 0.0, 1.0, determinant))
    u, v = right[..., 0], right[..., 1]
    return np.stack([scale * (d * u - b * v), scale * (a * v - b * u)], axis=-1)
