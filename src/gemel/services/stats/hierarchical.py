"""Differences between methods over training seeds and episodes, drawn with replacement level by level.

Trials of one training seed share a policy and are alike, so seeds are drawn first and episodes within them second
(Davison and Hinkley 1997, section 3.8). Methods that met the same worlds are drawn together.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_RESAMPLES = 4000


@dataclass(frozen=True)
class Difference:
    """How much more one method scores than another."""

    estimate: float
    low: float
    high: float
    """95 % interval."""
    p: float
    """Two-sided: twice the part of the draws on the other side of zero, at least 2 / (draws + 1)."""


def seed_means(
    values: Float[np.ndarray, "seed episode"], rng: np.random.Generator, *, draws: int = _RESAMPLES
) -> Float[np.ndarray, " draw"]:
    """Means over seeds and episodes, each drawn with replacement."""
    seeds, episodes = values.shape
    chosen = rng.integers(seeds, size=(draws, seeds))
    columns = rng.integers(episodes, size=(draws, seeds, episodes))
    return np.asarray(values[chosen[..., None], columns].mean(axis=(1, 2)))


def hierarchical_interval(
    values: Float[np.ndarray, "seed episode"], rng: np.random.Generator, *, draws: int = _RESAMPLES
) -> tuple[float, float]:
    """95 % interval of the mean."""
    low, high = np.quantile(seed_means(values, rng, draws=draws), [0.025, 0.975])
    return float(low), float(high)


def hierarchical_difference(
    first: Float[np.ndarray, "seed episode"],
    second: Float[np.ndarray, "seed episode"],
    rng: np.random.Generator,
    *,
    draws: int = _RESAMPLES,
) -> Difference:
    """Mean of the first minus mean of the second, for methods that met the same worlds with the same seeds."""
    differences = seed_means(first - second, rng, draws=draws)
    low, high = np.quantile(differences, [0.025, 0.975])
    tail = min(int((differences <= 0.0).sum()), int((differences >= 0.0).sum()))
    p = min(1.0, 2.0 * (tail + 1) / (draws + 1))
    return Difference(float((first - second).mean()), float(low), float(high), p)


def hierarchical_ratio(
    above: Float[np.ndarray, "seed episode"],
    below: Float[np.ndarray, "seed episode"],
    rng: np.random.Generator,
    *,
    draws: int = _RESAMPLES,
) -> tuple[float, float, float]:
    """Mean over mean and its 95 % interval, drawn in pairs; entries that are NaN in either do not count."""
    seeds, episodes = above.shape
    is_known = np.isfinite(above) & np.isfinite(below)
    pairs = np.stack([np.where(is_known, above, 0.0), np.where(is_known, below, 0.0)])
    chosen = rng.integers(seeds, size=(draws, seeds))[..., None]
    sums = pairs[:, chosen, rng.integers(episodes, size=(draws, seeds, episodes))].sum(axis=(2, 3))
    ratios = sums[0] / np.maximum(sums[1], 1e-12)
    low, high = np.quantile(ratios, [0.025, 0.975])
    total = pairs.sum(axis=(1, 2))
    return float(total[0] / max(total[1], 1e-12)), float(low), float(high)
