"""Simulation-based calibration: the rank of a truth drawn from the prior among its posterior draws is uniform.

Talts et al. 2018 (arXiv 1804.06788). A method passes when the histogram of ranks over many simulated data sets cannot
be told from a flat one.
"""

import numpy as np
from jaxtyping import Float, Int


def rank_statistics(
    truth: Float[np.ndarray, " p"],
    samples: Float[np.ndarray, "n p"],
    weights: Float[np.ndarray, " n"],
    rng: np.random.Generator,
    *,
    draws: int = 99,
) -> Int[np.ndarray, " p"]:
    """How many of `draws` posterior draws lie below the truth, per parameter: 0 to `draws`."""
    chosen = samples[rng.choice(len(samples), size=draws, p=weights)]
    return np.asarray((chosen < truth).sum(axis=0), dtype=np.int64)


def chi_square_p(ranks: Int[np.ndarray, " trial"], *, draws: int = 99, bins: int = 20) -> float:
    """Chance of a histogram of ranks at least as uneven as this one when ranks are uniform over 0..`draws`."""
    from scipy.stats import chisquare

    counts = np.bincount(ranks * bins // (draws + 1), minlength=bins)
    edges = np.ceil(np.arange(bins + 1) * (draws + 1) / bins)
    expected = np.diff(edges) / (draws + 1) * len(ranks)
    return float(chisquare(counts, expected).pvalue)
