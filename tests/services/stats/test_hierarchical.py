"""Bootstraps over seeds and then episodes: they see that trials of one seed are alike."""

import numpy as np

from gemel.services.stats import hierarchical_difference, hierarchical_interval, hierarchical_ratio, wilson_interval


def test_seeds_that_differ_make_intervals_wide() -> None:
    """Five seeds of 80 trials, two of which always fail: an interval over trials alone would be far too narrow."""
    values = np.repeat([1.0, 1.0, 1.0, 0.0, 0.0], 80).reshape(5, 80)
    low, high = hierarchical_interval(values, np.random.default_rng(0))
    naive = wilson_interval(240, 400)
    assert high - low > 5.0 * (naive[1] - naive[0])
    assert low <= 0.6 <= high


def test_equal_methods_do_not_differ_and_unequal_ones_do() -> None:
    """p is 1 for the same results, small for a difference that every seed shows, and never zero."""
    rng = np.random.default_rng(1)
    base = (rng.uniform(size=(5, 80)) < 0.6).astype(float)
    assert hierarchical_difference(base, base, rng).p == 1.0
    better = np.maximum(base, (rng.uniform(size=(5, 80)) < 0.5).astype(float))
    found = hierarchical_difference(better, base, rng)
    assert 0.0 < found.p < 0.01
    assert 0.0 < found.low < found.estimate < found.high


def test_p_values_are_honest_under_no_difference() -> None:
    """Methods whose seeds have the same spread of skill: p < 0.1 comes up about as often as it says, not much more."""
    rng = np.random.default_rng(2)
    small = 0
    for _ in range(200):
        skills = rng.uniform(0.4, 0.9, (2, 8, 1))
        first, second = (rng.uniform(size=(2, 8, 60)) < skills).astype(float)
        small += hierarchical_difference(first, second, rng, draws=300).p < 0.1
    assert small <= 45  # with eight seeds a percentile bootstrap is known to be a little too sure: 10 % becomes 15-20 %


def test_ratios_leave_out_what_is_not_known() -> None:
    """Times of trials that did not end count in neither mean."""
    above = np.array([[2.0, np.nan, 4.0], [2.0, 4.0, 2.0]])
    below = np.array([[4.0, 8.0, 8.0], [4.0, np.nan, 4.0]])
    ratio, low, high = hierarchical_ratio(above, below, np.random.default_rng(0))
    assert ratio == 0.5
    assert low == high == 0.5
