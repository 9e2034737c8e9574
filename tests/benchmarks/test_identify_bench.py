"""The default method is calibrated where truth and noise are drawn from its own assumptions."""

import numpy as np
import pytest

from gemel.benchmarks.calibration_worlds import sbc_ranks
from gemel.benchmarks.identify import bench_identify
from gemel.errors import ConfigError
from gemel.services.stats import binomial_bounds


@pytest.mark.slow
def test_truths_lie_in_their_intervals() -> None:
    """Ranks of 24 truths of an analytic world: within the middle 80 % as often as chance allows."""
    ranks = np.array([sbc_ranks("analytic", seed) for seed in range(2000, 2024)])
    inside = int(np.sum(np.abs(ranks - 49.5) < 40.0))
    low, high = binomial_bounds(ranks.size, 0.8, confidence=0.999)
    assert low <= inside <= high


def test_unknown_parts_are_refused() -> None:
    """With the names of those that exist."""
    with pytest.raises(ConfigError, match="Closest: 'worlds'"):
        bench_identify(quick=True, seed=0, parts="world")
