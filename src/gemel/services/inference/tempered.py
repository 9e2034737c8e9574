"""Draws from a posterior over normal coordinates by tempering: from the prior to the likelihood in small steps.

Sequential Monte Carlo (Del Moral, Doucet and Jasra 2006): weigh, resample, move. Moves are random walks shaped by the
draws' own covariance, accepted by Metropolis's rule; their length adapts to what was accepted. The log likelihood is
cheap here (an emulator), so draws are many and the result needs no weights.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import ConfigError
from gemel.services.inference.kalman import tempering_step

_SMALLEST_STEP = 0.002
LogDensity = Callable[[np.ndarray], np.ndarray]
"""Draws (n, p) to n values; minus infinity where a draw is impossible."""


def tempered_draws(
    log_likelihood: LogDensity,
    start: Float[np.ndarray, "n p"],
    log_start: LogDensity,
    rng: np.random.Generator,
    *,
    power: float = 1.0,
    moves: int = 6,
) -> Float[np.ndarray, "n p"]:
    """Draws of N(0, I) times the likelihood to a `power`, from draws of any density that is wider (`log_start`)."""

    def target(z: np.ndarray) -> np.ndarray:
        return np.asarray(power * log_likelihood(z) - 0.5 * np.sum(z**2, axis=1))

    z, reached, size = start.copy(), 0.0, 2.38 / np.sqrt(start.shape[1])
    end, begin = target(z), log_start(z)
    while reached < 1.0:
        gain = np.where(np.isfinite(end), end - begin, -np.inf)
        misfits = np.where(np.isfinite(gain), -gain, 1e12)
        step = max(tempering_step(misfits, 1.0 - reached), min(_SMALLEST_STEP, 1.0 - reached))
        reached = 1.0 if 1.0 - reached - step < 1e-9 else reached + step
        weights = np.exp(-step * (misfits - misfits.min()))
        chosen = systematic(weights / weights.sum(), rng, len(z))
        z, end, begin = z[chosen], end[chosen], begin[chosen]
        root = _root(z)
        for _ in range(moves if reached < 1.0 else 4 * moves):
            proposed = z + size * rng.standard_normal(z.shape) @ root.T
            new_end, new_begin = target(proposed), log_start(proposed)
            change = reached * (new_end - end) + (1.0 - reached) * (new_begin - begin)
            accepted = np.log(rng.uniform(size=len(z))) < np.where(np.isfinite(change), change, -np.inf)
            z = np.where(accepted[:, None], proposed, z)
            end, begin = np.where(accepted, new_end, end), np.where(accepted, new_begin, begin)
            size *= float(np.exp(accepted.mean() - 0.3))
    return z


def _root(z: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "p p"]:
    """Square root of the draws' covariance."""
    try:
        return np.linalg.cholesky(np.cov(z.T).reshape(z.shape[1], -1) + 1e-12 * np.eye(z.shape[1]))
    except np.linalg.LinAlgError:
        raise ConfigError(
            "The simulations near the data are too wild to infer anything from: they scatter beyond all numbers.",
            remedy="narrow the prior to values that the simulator can take, or leave a parameter out",
        ) from None


def systematic(weights: Float[np.ndarray, " n"], rng: np.random.Generator, count: int) -> Int[np.ndarray, " count"]:
    """Indices of a resampled set: each as often as its weight says, up to one."""
    places = (rng.uniform() + np.arange(count)) / count
    return np.minimum(np.searchsorted(np.cumsum(weights), places), len(weights) - 1)
