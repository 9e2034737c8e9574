"""Lenses at large: inverses and limits for coefficients drawn at random."""

import numpy as np
import pytest

from gemel.geometry.distortion import (
    EquidistantDistortion,
    RationalDistortion,
    invert_increasing,
    smallest_positive_root,
)


def disc(rng: np.random.Generator, radius: float, count: int) -> np.ndarray:
    r, angle_rad = radius * np.sqrt(rng.random(count)), 2.0 * np.pi * rng.random(count)
    return np.stack([r * np.cos(angle_rad), r * np.sin(angle_rad)], axis=-1)


@pytest.mark.parametrize("seed", range(40))
def test_any_rational_lens_can_be_undone(seed: int) -> None:
    """Up to 95 % of its limit radius every random lens is undone, also those that bend in and out."""
    rng = np.random.default_rng(seed)
    lens = RationalDistortion(*rng.standard_normal(8) * [0.3, 0.2, 1e-3, 1e-3, 0.1, 0.3, 0.2, 0.1])
    xy = disc(rng, 0.95 * min(lens.limit_radius, 1.5), 200)
    distorted = lens.distort(xy)
    # Next to a pole of the rational function the image runs off to infinity, and digits with it.
    is_tame = np.linalg.norm(distorted, axis=-1) < 10.0
    np.testing.assert_allclose(lens.undistort(distorted)[is_tame], xy[is_tame], atol=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_any_equidistant_lens_can_be_undone(seed: int) -> None:
    """Up to 99 % of its limit angle every random fisheye lens is undone."""
    rng = np.random.default_rng(seed)
    lens = EquidistantDistortion(*rng.standard_normal(4) * [0.05, 0.02, 0.01, 0.003])
    theta_rad = 0.99 * lens.limit_angle_rad * rng.random(200)
    np.testing.assert_allclose(lens.undistort(lens.distort(theta_rad)), theta_rad, atol=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_jacobian_matches_finite_differences(seed: int) -> None:
    """The lens Jacobian agrees with central differences, and the fisheye's slope with its own."""
    rng, h = np.random.default_rng(seed), 1e-6
    lens = RationalDistortion(*rng.standard_normal(8) * [0.3, 0.2, 0.01, 0.01, 0.1, 0.3, 0.2, 0.1])
    xy = disc(rng, 0.8 * min(lens.limit_radius, 1.0), 50)
    columns = [(lens.distort(xy + d) - lens.distort(xy - d)) / (2 * h) for d in h * np.eye(2)]
    np.testing.assert_allclose(lens.jacobian(xy), np.stack(columns, axis=-1), rtol=1e-6, atol=1e-7)
    fisheye = EquidistantDistortion(*rng.standard_normal(4) * [0.05, 0.02, 0.01, 0.003])
    theta_rad = np.linspace(0.1, 0.9, 9) * fisheye.limit_angle_rad
    difference = (fisheye.distort(theta_rad + h) - fisheye.distort(theta_rad - h)) / (2 * h)
    np.testing.assert_allclose(fisheye.slope(theta_rad), difference, atol=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_radius_grows_up_to_the_limit_and_not_beyond(seed: int) -> None:
    """The radial curve rises all the way to the limit radius; from there on the answer is NaN."""
    rng = np.random.default_rng(seed)
    coefficients = rng.standard_normal(8) * [0.3, 0.2, 0.0, 0.0, 0.1, 0.3, 0.2, 0.1]
    lens = RationalDistortion(*coefficients)
    end = min(lens.limit_radius, 5.0)
    r = np.linspace(0.0, 1.2, 601) * end
    image_radius = lens.distort(np.stack([r, 0.0 * r], axis=-1))[:, 0]
    is_below = r < lens.limit_radius
    np.testing.assert_array_equal(np.isnan(image_radius), ~is_below)
    assert np.all(np.diff(image_radius[is_below]) > 0.0)


def test_limits_in_closed_form() -> None:
    """One cubic each: r - c r³ turns at 1/sqrt(3c); without coefficients there is no limit but pi."""
    none = (0.0,) * 6
    assert RationalDistortion(-0.12, 0.0, *none).limit_radius == pytest.approx(1.0 / 0.6, rel=1e-12)
    assert RationalDistortion(0.0, 0.0, *none).limit_radius == np.inf
    assert RationalDistortion(0.0, 0.0, 0.0, 0.0, 0.0, -0.25, 0.0, 0.0).limit_radius == pytest.approx(2.0)
    assert EquidistantDistortion(-0.12, 0.0, 0.0, 0.0).limit_angle_rad == pytest.approx(1.0 / 0.6)
    assert EquidistantDistortion(0.0, 0.0, 0.0, 0.0).limit_angle_rad == np.pi


def test_smallest_positive_root() -> None:
    """(s - 2)(s - 5)(s + 1) has 2; s² + 1 and the constant have none."""
    assert smallest_positive_root(np.array([10.0, 3.0, -6.0, 1.0])) == pytest.approx(2.0, rel=1e-12)
    assert smallest_positive_root(np.array([1.0, 0.0, 1.0])) == np.inf
    assert smallest_positive_root(np.array([1.0, 0.0, 0.0])) == np.inf


def test_inversion_survives_a_curve_that_defeats_plain_newton() -> None:
    """arctan is increasing, but Newton's method diverges on it from afar; values it never takes give NaN."""

    def slope(x: np.ndarray) -> np.ndarray:
        return 1.0 / (1.0 + x**2)

    value = np.array([0.0, 0.3, 1.2, 1.5, 1.6, np.nan])
    found = invert_increasing(np.arctan, slope, value, np.inf)
    np.testing.assert_allclose(found[:4], np.tan(value[:4]), rtol=1e-6)
    assert np.all(np.isnan(found[4:]))
