"""Scalar coefficients of the exponential maps, exact to rounding at every angle.

The closed forms of these coefficients subtract nearly equal numbers when the angle is small: the last one
keeps no correct digit below about 1e-3 rad. Each is an entire function of the squared angle, so below
`SERIES_BELOW_RAD` its power series is summed instead; nine terms leave a truncation error under 1e-17 there.
Names and uses follow Barfoot, *State Estimation for Robotics* (2017), sections 7.1.3 and 7.1.5.
"""

from collections.abc import Callable
from math import factorial

import numpy as np
from jaxtyping import Float

SERIES_BELOW_RAD = 1.0
_TERM_COUNT = 9

Angles = Float[np.ndarray, "*batch"]


def _series_or_closed(
    theta: Angles, term: Callable[[int], float], closed: Callable[[np.ndarray], np.ndarray]
) -> Angles:
    """Sum over k of (-1)^k term(k) theta^(2k) for small angles, `closed(theta)` for the others."""
    coefficients = [(-1) ** k * term(k) for k in range(_TERM_COUNT)]
    is_small = np.abs(theta) < SERIES_BELOW_RAD
    series = np.polynomial.polynomial.polyval(np.where(is_small, theta, 0.0) ** 2, coefficients)
    return np.where(is_small, series, closed(np.where(is_small, 1.0, theta)))


def sine_ratio(theta: Angles) -> Angles:
    """sin(theta) / theta."""
    return np.asarray(np.sinc(theta / np.pi))


def one_minus_cosine_ratio(theta: Angles) -> Angles:
    """(1 - cos theta) / theta², written with the half angle so that nothing cancels."""
    return np.asarray(0.5 * sine_ratio(theta / 2.0) ** 2)


def theta_minus_sine_ratio(theta: Angles) -> Angles:
    """(theta - sin theta) / theta³, with limit 1/6."""
    return _series_or_closed(theta, lambda k: 1.0 / factorial(2 * k + 3), lambda t: (t - np.sin(t)) / t**3)


def inverse_jacobian_ratio(theta: Angles) -> Angles:
    """(1 - (theta/2) cot(theta/2)) / theta², with limit 1/12 and a pole at 2 pi.

    With h = theta/2 it equals g(h) / (4 sin(h)/h), where g(h) = (sin h - h cos h) / h³ is entire.
    """
    half = theta / 2.0
    numerator = _series_or_closed(
        half, lambda k: (2 * k + 2) / factorial(2 * k + 3), lambda h: (np.sin(h) - h * np.cos(h)) / h**3
    )
    return np.asarray(numerator / (4.0 * sine_ratio(half)))


def cosine_remainder_ratio(theta: Angles) -> Angles:
    """(theta² + 2 cos theta - 2) / (2 theta⁴), with limit 1/24."""
    return _series_or_closed(
        theta, lambda k: 1.0 / factorial(2 * k + 4), lambda t: (t**2 + 2.0 * np.cos(t) - 2.0) / (2.0 * t**4)
    )


def mixed_remainder_ratio(theta: Angles) -> Angles:
    """(2 theta - 3 sin theta + theta cos theta) / (2 theta⁵), with limit 1/120."""
    return _series_or_closed(
        theta,
        lambda k: (k + 1) / factorial(2 * k + 5),
        lambda t: (2.0 * t - 3.0 * np.sin(t) + t * np.cos(t)) / (2.0 * t**5),
    )
