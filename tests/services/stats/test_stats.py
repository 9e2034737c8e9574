"""Intervals, coverage and calibration say what they should on data of known distribution."""

import numpy as np
import pytest

from gemel.services.stats import (
    autocorrelation_time,
    binomial_bounds,
    central_interval,
    chi_square_p,
    effective_sample_size,
    interval_score,
    is_within_bounds,
    rank_statistics,
    weighted_quantiles,
    wilson_interval,
)


def test_weights_are_repetitions() -> None:
    """A sample of weight three is three samples."""
    rng = np.random.default_rng(0)
    values, counts = rng.standard_normal(400), rng.integers(1, 4, 400)
    levels = np.array([0.1, 0.5, 0.9])
    repeated = np.repeat(values, counts)
    by_weight = weighted_quantiles(values, counts / counts.sum(), levels)
    np.testing.assert_allclose(by_weight, np.quantile(repeated, levels), atol=0.02)


def test_central_interval_of_a_normal() -> None:
    """90 % of a normal lie within 1.645 standard deviations."""
    samples = np.random.default_rng(1).standard_normal((40000, 2)) * [1.0, 3.0]
    ends = central_interval(samples, np.full(40000, 1 / 40000), 0.9)
    np.testing.assert_allclose(ends, np.array([[-1.645, 1.645], [-4.935, 4.935]]), rtol=0.03)


def test_the_right_interval_scores_best() -> None:
    """The interval score is proper: too narrow and too wide both lose."""
    truth = np.random.default_rng(2).standard_normal(20000)
    scores = {
        half: interval_score(np.full_like(truth, -half), np.full_like(truth, half), truth, 0.9).mean()
        for half in (1.0, 1.645, 2.5)
    }
    assert scores[1.645] < scores[1.0]
    assert scores[1.645] < scores[2.5]


def test_binomial_bounds_hold_fair_counts() -> None:
    """Fair coverage leaves its 95 % bounds in at most about 5 % of all trials, and wrong coverage leaves them."""
    counts = np.random.default_rng(3).binomial(200, 0.9, 3000)
    assert np.mean([is_within_bounds(int(c), 200, 0.9) for c in counts]) >= 0.945
    assert not is_within_bounds(150, 200, 0.9)
    assert binomial_bounds(200, 0.9) == (171, 188)


def test_wilson_interval() -> None:
    """Known values (Wilson 1927 by hand), and never outside 0 to 1."""
    assert wilson_interval(9, 10) == pytest.approx((0.5958, 0.9821), abs=1e-3)
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert 0.999 < wilson_interval(10, 10)[1] <= 1.0


def test_ranks_are_uniform_only_for_the_right_posterior() -> None:
    """A posterior of the right width passes; one half as wide does not."""
    rng = np.random.default_rng(4)
    weights = np.full(400, 1 / 400)

    def p_value(width: float) -> float:
        ranks = []
        for _ in range(400):
            truth = rng.standard_normal(1)
            data = truth + rng.standard_normal(1)
            samples = 0.5 * data + width * np.sqrt(0.5) * rng.standard_normal((400, 1))
            ranks.append(rank_statistics(truth, samples, weights, rng)[0])
        return chi_square_p(np.array(ranks))

    assert p_value(1.0) > 0.01
    assert p_value(0.5) < 1e-6


def test_sample_sizes() -> None:
    """Equal weights count fully; a slow process counts by its correlation time."""
    assert effective_sample_size(np.full(50, 0.02)) == pytest.approx(50.0)
    rng = np.random.default_rng(5)
    slow = np.zeros(20000)
    for i in range(1, len(slow)):
        slow[i] = 0.9 * slow[i - 1] + rng.standard_normal()
    assert autocorrelation_time(slow) == pytest.approx(19.0, rel=0.25)
    assert autocorrelation_time(rng.standard_normal(5000)) == pytest.approx(1.0, abs=0.3)
