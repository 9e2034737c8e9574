"""Intervals from drawing trials with replacement: nothing is assumed of their distribution but independence.

Percentile intervals (Efron and Tibshirani 1993, chapter 13). With few trials they are too narrow; `n` goes with them.
"""

import numpy as np
from jaxtyping import Float

_RESAMPLES = 4000


def mean_interval(
    values: Float[np.ndarray, " n"], rng: np.random.Generator, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Interval of the mean over trials."""
    rows = rng.integers(len(values), size=(_RESAMPLES, len(values)))
    return _ends(values[rows].mean(axis=1), confidence)


def ratio_interval(
    numerators: Float[np.ndarray, " n"],
    denominators: Float[np.ndarray, " n"],
    rng: np.random.Generator,
    *,
    confidence: float = 0.95,
) -> tuple[float, float]:
    """Interval of sum over sum, trials drawn in pairs; infinite where only numerators are left."""
    rows = rng.integers(len(numerators), size=(_RESAMPLES, len(numerators)))
    above, below = numerators[rows].sum(axis=1), denominators[rows].sum(axis=1)
    ratios = np.divide(above, below, out=np.full(_RESAMPLES, np.inf), where=below > 0.0)
    return _ends(ratios, confidence)


def _ends(values: Float[np.ndarray, " r"], confidence: float) -> tuple[float, float]:
    tails = [0.5 * (1.0 - confidence), 0.5 * (1.0 + confidence)]
    # Not interpolated: an infinite ratio must not turn its neighbours into nonsense.
    low, high = np.quantile(values, tails, method="inverted_cdf")
    return float(low), float(high)
