"""`gemel bench growth`: the slope that it states, and a run of its smallest cases."""

import numpy as np
import pytest

from gemel.benchmarks.growth import bench_growth, exponent
from gemel.benchmarks.growth_scene import ball_views


def test_exponents_are_those_of_power_laws() -> None:
    """A power law gives its exponent without error; with noise, the truth lies within three standard errors."""
    sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    slope, error = exponent(sizes, [3.0 * size**1.5 for size in sizes])
    assert slope == pytest.approx(1.5)
    assert error == pytest.approx(0.0, abs=1e-12)
    noise = np.exp(0.1 * np.random.default_rng(0).standard_normal(6))
    slope, error = exponent(sizes, (np.sqrt(sizes) * noise).tolist())
    assert abs(slope - 0.5) < 3.0 * error
    assert np.isnan(exponent([1.0, 2.0], [1.0, 2.0])[1])


def test_the_ball_is_inside_every_picture() -> None:
    """Outlines end before the border, else the hull would be open; colours stay within range."""
    views = ball_views(6, 48, 36)
    border = np.ones((36, 48), bool)
    border[1:-1, 1:-1] = False
    assert not views.masks[:, border].any()
    assert 0.1 < views.masks.mean() < 0.6
    assert 0.0 <= views.images.min() <= views.images.max() <= 1.0


@pytest.mark.slow
def test_quick_growth_measures_time_and_memory() -> None:
    """Each case has its own times and memory, and every figure an exponent."""
    figures, rows = bench_growth(quick=True, seed=0)
    assert [row["gaussians"] for row in rows] == [400, 800]
    assert all(float(str(row["fit_s"])) > 0.0 for row in rows)
    assert {"exponent_seconds_gaussians", "exponent_fit_gaussians", "peak_mib_largest"} <= set(figures)
