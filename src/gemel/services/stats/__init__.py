"""Intervals and whether they keep their word: quantiles, coverage with binomial bounds, interval scores, SBC,
bootstraps."""

from gemel.services.stats.bootstrap import mean_interval, ratio_interval
from gemel.services.stats.calibration import chi_square_p, rank_statistics
from gemel.services.stats.coverage import binomial_bounds, is_within_bounds, wilson_interval
from gemel.services.stats.hierarchical import (
    Difference,
    hierarchical_difference,
    hierarchical_interval,
    hierarchical_ratio,
)
from gemel.services.stats.intervals import central_interval, interval_score, weighted_quantiles
from gemel.services.stats.sample_size import autocorrelation_time, effective_sample_size

__all__ = [
    "Difference",
    "autocorrelation_time",
    "binomial_bounds",
    "central_interval",
    "chi_square_p",
    "effective_sample_size",
    "hierarchical_difference",
    "hierarchical_interval",
    "hierarchical_ratio",
    "interval_score",
    "is_within_bounds",
    "mean_interval",
    "rank_statistics",
    "ratio_interval",
    "weighted_quantiles",
    "wilson_interval",
]
