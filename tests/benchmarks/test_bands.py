"""Bands: coverage counts only with sharpness."""

import numpy as np

from gemel.benchmarks.bands import fit_band, judge, summary


def test_bands_that_know_where_errors_are_large_beat_a_constant_width() -> None:
    """Errors that scale with the spread are covered at 95 %, with a better score than a constant band's."""
    rng = np.random.default_rng(0)
    spread = rng.uniform(0.1, 3.0, 8000)
    error = spread * rng.standard_normal(8000)
    band = fit_band(error[:4000], spread[:4000])
    found = summary([judge(band, error[4000:], spread[4000:])])
    assert 0.93 < found["coverage95"] < 0.97
    assert found["interval_score_ratio"] < 0.9


def test_spreads_that_know_nothing_gain_nothing() -> None:
    """With spreads unrelated to the errors the best band is the constant one, within a few per cent."""
    rng = np.random.default_rng(1)
    spread, error = rng.uniform(0.1, 3.0, 8000), rng.standard_normal(8000)
    found = summary([judge(fit_band(error[:4000], spread[:4000]), error[4000:], spread[4000:])])
    assert 0.93 < found["coverage95"] < 0.97
    assert 0.97 < found["interval_score_ratio"] < 1.05


def test_a_band_that_is_too_narrow_is_found_out() -> None:
    """Halving all widths costs coverage and score."""
    rng = np.random.default_rng(2)
    error, spread = rng.standard_normal(4000), np.ones(4000)
    band = fit_band(error, spread)
    narrow = judge(type(band)(0.5 * band.floor, 0.5 * band.factor, band.constant), error, spread)
    assert narrow.is_covered.mean() < 0.75
    assert narrow.score.mean() > 1.2
