"""Quantiles of weighted samples, central intervals and their score."""

import numpy as np
from jaxtyping import Float


def weighted_quantiles(
    values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"], levels: Float[np.ndarray, " q"]
) -> Float[np.ndarray, " q"]:
    """Quantiles of weighted samples, linear between the middles of each sample's share of the weight."""
    order = np.argsort(values, kind="stable")
    share = weights[order] / weights.sum()
    middles = np.cumsum(share) - 0.5 * share
    return np.interp(levels, middles, values[order])


def central_interval(
    samples: Float[np.ndarray, "n p"], weights: Float[np.ndarray, " n"], level: float
) -> Float[np.ndarray, "p 2"]:
    """Low and high end, per column, of the interval that holds `level` of the weight, equal tails."""
    tails = np.array([0.5 * (1.0 - level), 0.5 * (1.0 + level)])
    return np.stack([weighted_quantiles(column, weights, tails) for column in samples.T])


def interval_score(
    low: Float[np.ndarray, "*n"], high: Float[np.ndarray, "*n"], truth: Float[np.ndarray, "*n"], level: float
) -> Float[np.ndarray, "*n"]:
    """Width plus 2/alpha times what lies outside; smaller is better (Gneiting and Raftery 2007, section 6.2)."""
    outside = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return np.asarray(high - low + 2.0 / (1.0 - level) * outside)
