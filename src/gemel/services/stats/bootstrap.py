"""Intervals from drawing trials with replacement: nothing is assumed of their distribution but independence.

Percentile intervals (Efron and Tibshirani 1993, chapter 13). With few trials they are too narrow; `n` goes with them.
One trial has no spread, and so no interval: its ends are not numbers.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

RESAMPLES = 4000


class RatioInterval(NamedTuple):
    """Ends of an interval of a ratio, and how many resamples it could not be taken of."""

    low: float
    high: float
    undefined: int
    """Resamples that were nothing over nothing, of `RESAMPLES`; they were left out."""


def mean_interval(
    values: Float[np.ndarray, " n"], rng: np.random.Generator, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Interval of the mean over trials."""
    if len(values) < 2:
        return float("nan"), float("nan")
    rows = rng.integers(len(values), size=(RESAMPLES, len(values)))
    return _ends(values[rows].mean(axis=1), confidence)


def ratio_interval(
    numerators: Float[np.ndarray, " n"],
    denominators: Float[np.ndarray, " n"],
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
) -> RatioInterval:
    """Interval of sum over sum, trials drawn in pairs; infinite where only numerators are left.

    Resamples in which nothing is left of either say nothing, and are left out; without any other, ends are not numbers.
    """
    if len(numerators) < 2:
        return RatioInterval(float("nan"), float("nan"), 0)
    rows = rng.integers(len(numerators), size=(RESAMPLES, len(numerators)))
    above, below = numerators[rows].sum(axis=1), denominators[rows].sum(axis=1)
    is_told = (above > 0.0) | (below > 0.0)
    above, below = above[is_told], below[is_told]
    if not len(above):
        return RatioInterval(float("nan"), float("nan"), RESAMPLES)
    ratios = np.divide(above, below, out=np.full(len(above), np.inf), where=below > 0.0)
    return RatioInterval(*_ends(ratios, confidence), RESAMPLES - len(above))


def _ends(values: Float[np.ndarray, " r"], confidence: float) -> tuple[float, float]:
    tails = [0.5 * (1.0 - confidence), 0.5 * (1.0 + confidence)]
    # Not interpolated: an infinite ratio must not turn its neighbours into nonsense.
    low, high = np.quantile(values, tails, method="inverted_cdf")
    return float(low), float(high)
