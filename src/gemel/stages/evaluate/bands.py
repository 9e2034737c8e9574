"""What draws of a belief say together: bands of errors over time, and whether the record lies among the draws.

A draw predicts where the object is; the track says where it was, give or take its covariance. So each draw gets an
error of the track of its own, and one of the frame that it started from, before it is asked whether the middle nine
tenths of them hold the record.

Ends are such that one more draw would be between them as often as the band says, however few draws there are: the k-th
of n is the k / (n + 1) quantile (Weibull 1939). The usual quantiles of 24 draws hold 83 % of further ones, not 90 %.
"""

import numpy as np
from jaxtyping import Bool, Float

from gemel.geometry import SE3

BAND = 0.9
"""Share of further draws that a band holds, equal tails."""
FEWEST_DRAWS = 19
"""With fewer, even the least and the largest hold less than that."""


def error_band(errors: Float[np.ndarray, "draw t"]) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """Low and high end over draws, at each time."""
    return _ends(errors)


def is_inside_band(
    predicted: SE3,
    tracked: SE3,
    covariances: Float[np.ndarray, "t 6 6"],
    covariance_start: Float[np.ndarray, "6 6"],
    rng: np.random.Generator,
) -> Bool[np.ndarray, "t 6"]:
    """For predictions of batch (draw, t): whether each component of the record, in the object's axes, is inside."""
    apart = (tracked.inverse() @ predicted).log()
    turn = tracked.inverse().adjoint()
    now, start = (np.einsum("tij,tjk,tik->ti", turn, c, turn) for c in (covariances, covariance_start[None]))
    noise = np.sqrt(np.maximum(now, 0.0)) * rng.standard_normal(apart.shape)
    noise += np.sqrt(np.maximum(start, 0.0)) * rng.standard_normal((len(apart), 1, 6))
    low, high = _ends(apart + noise)
    return np.asarray((low <= 0.0) & (high >= 0.0))


def _ends(values: Float[np.ndarray, "draw *rest"]) -> tuple[Float[np.ndarray, "*rest"], Float[np.ndarray, "*rest"]]:
    low, high = np.quantile(values, [0.5 * (1.0 - BAND), 0.5 * (1.0 + BAND)], axis=0, method="weibull")
    return low, high
