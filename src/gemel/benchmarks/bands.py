"""95 % bands around a prediction, and whether they are worth more than a constant width.

A band is `± sqrt(floor² + (factor · spread)²)`, where `spread` is the standard deviation of rollouts that differ as
the posterior and the inferred noise say: wide where the motion is sensitive, narrow where it is not. Floor and factor
are the two numbers that minimise the interval score (Gneiting and Raftery 2007) on the data that was fitted. The
constant band has the same centre; its half-width is the 95 % quantile of the errors on the data that was fitted.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.services.stats import interval_score

LEVEL = 0.95
Errors = Float[np.ndarray, " n"]


@dataclass(frozen=True)
class Band:
    """Half-widths from spreads, and the constant half-width that they compete with."""

    floor: float
    factor: float
    constant: float

    def half_widths(self, spread: Errors) -> Errors:
        """In the unit of the errors."""
        return np.asarray(np.hypot(self.floor, self.factor * spread))


@dataclass(frozen=True, eq=False)
class Judged:
    """How one band did on errors that it has not seen."""

    is_covered: np.ndarray
    score: np.ndarray
    """Interval score of each error, over the constant band's mean score on the same errors."""


def fit_band(error: Errors, spread: Errors) -> Band:
    """The band that scores best on errors of fitted data, searched on a grid of 40 floors and 40 factors."""
    size = np.abs(error)
    constant = float(np.quantile(size, LEVEL))
    steps = np.geomspace(1.0 / 40.0, 2.0, 40)
    typical = max(float(np.sqrt(np.mean(spread**2))), 1e-12)
    floors = np.concatenate([[0.0], constant * steps])
    factors = np.concatenate([[0.0], constant / typical * steps])
    best = min(
        (float(np.mean(_score(size, np.hypot(floor, factor * spread)))), float(floor), float(factor))
        for floor in floors
        for factor in factors
    )
    return Band(best[1], best[2], constant)


def judge(band: Band, error: Errors, spread: Errors) -> Judged:
    """Coverage and score of a band on other data."""
    size, half = np.abs(error), band.half_widths(spread)
    constant = float(np.mean(_score(size, np.full(len(size), band.constant))))
    return Judged(size <= half, _score(size, half) / constant)


def summary(judged: list[Judged]) -> dict[str, float]:
    """`coverage95` over all errors and `interval_score_ratio`, the mean over bands of own over constant score."""
    return {
        "coverage95": float(np.mean(np.concatenate([part.is_covered for part in judged]))),
        "interval_score_ratio": float(np.mean([part.score.mean() for part in judged])),
    }


def _score(size: np.ndarray, half: np.ndarray) -> np.ndarray:
    return interval_score(-half, half, size, LEVEL)
