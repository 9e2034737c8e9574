"""How likely residuals are when each block of them (a push) may be wrong as a whole, and some blocks very wrong.

What a model lacks (a table whose friction differs from place to place, a tip that is a millimetre elsewhere) moves all
frames of a push together, by a different amount in every push; now and then a push that just misses in the model turns
the object the other way. So a block's mean square counts as `worth` independent numbers, whatever its rate, and has
Student's distribution over blocks: a few wild ones lose their say. The level that blocks share is inferred: it has a
scaled inverse chi-square prior around one and is summed over a grid.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_LOG_VARIANCES = np.linspace(np.log(0.05), np.log(2e4), 49)


@dataclass(frozen=True, eq=False)
class BlockNoise:
    """The blocks of one group."""

    counts: Float[np.ndarray, " block"]
    """How many independent numbers each counts as."""
    freedom: float
    """Degrees of freedom over blocks: the smaller, the wilder single blocks may be."""
    level_dof: float

    def log_likelihood(self, mean_squares: Float[np.ndarray, "block n"]) -> Float[np.ndarray, " n"]:
        """Of n sets of residuals, the level summed over; up to a constant."""
        from scipy.special import logsumexp

        return np.asarray(logsumexp(self._cells(mean_squares), axis=0))

    def level(self, mean_squares: Float[np.ndarray, " block"]) -> tuple[float, float]:
        """The level that one set of residuals shows, and how many independent numbers its blocks are worth."""
        cells = self._cells(mean_squares[:, None])[:, 0]
        shares = np.exp(cells - cells.max())
        variance = float(shares @ np.exp(_LOG_VARIANCES) / shares.sum())
        ratio = self.counts * mean_squares / variance
        say = (self.freedom + self.counts) / (self.freedom + ratio)  # of each block, as in iterated least squares
        return float(np.sqrt(variance)), float(np.sum(self.counts * np.minimum(say, 1.0)))

    def _cells(self, mean_squares: Float[np.ndarray, "block n"]) -> Float[np.ndarray, "level n"]:
        """Log of level prior times likelihood over the grid."""
        variances = np.exp(_LOG_VARIANCES)
        log_prior = -0.5 * self.level_dof * (_LOG_VARIANCES + 1.0 / variances)
        found = np.repeat(
            (log_prior - 0.5 * self.counts.sum() * _LOG_VARIANCES)[:, None], mean_squares.shape[1], axis=1
        )
        for count, square in zip(self.counts, mean_squares, strict=True):
            relative = count * square / self.freedom / variances[:, None]
            found -= 0.5 * (self.freedom + count) * np.log1p(relative)
        return found
