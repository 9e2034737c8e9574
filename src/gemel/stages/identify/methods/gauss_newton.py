"""Least squares by `mujoco.minimize` and a linearised interval: right for smooth problems, fast, blind to the rest.

Derivatives are finite differences of rollouts, all of them in one batch. Where contact makes predictions rough,
neighbouring rollouts tell nothing about the slope and the search stalls; the emulator of `eki` looks further.
"""

import numpy as np
from jaxtyping import Float

from gemel.errors import MissingExtraError
from gemel.services.inference import NoiseModel, PriorMap
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.methods.fit import Fit, Rollouts, counted_noise
from gemel.stages.identify.problem import Problem

_DIFFERENCE = 1e-3
_BOUND = 4.0
_ROUNDS = 2


def fit_gauss_newton(problem: Problem, prior: PriorMap, config: IdentifyConfig, rng: np.random.Generator) -> Fit:
    """A Gaussian about the maximum a posteriori, in normal coordinates."""
    rollouts = Rollouts(problem, prior)
    start = np.zeros(len(problem.parameters))
    model = NoiseModel(problem.noise)
    sd = problem.noise.scale.copy()
    for _ in range(_ROUNDS):  # the noise level follows from the first fit's residuals
        start = _minimum(rollouts, problem, sd, start)
        residuals = problem.observed - rollouts.predict(start[None])[0]
        sd = counted_noise(model, residuals)
    slopes = slopes_at(rollouts, start) / sd[:, None]
    covariance = np.linalg.inv(slopes.T @ slopes + np.eye(len(start)))
    z = rng.multivariate_normal(start, covariance, size=config.draws)
    weights = np.full(len(z), 1.0 / len(z))
    return Fit(z, weights, residuals, model.levels(residuals), rollouts.asked, rollouts.diverged)


def slopes_at(
    rollouts: Rollouts, z: Float[np.ndarray, " p"], *, difference: float = _DIFFERENCE
) -> Float[np.ndarray, "m p"]:
    """Derivatives of the predictions by central differences."""
    steps = difference * np.eye(len(z))
    predicted = rollouts.predict(np.concatenate([z + steps, z - steps]))
    return np.asarray((predicted[: len(z)] - predicted[len(z) :]).T / (2.0 * difference))


def _minimum(
    rollouts: Rollouts, problem: Problem, sd: Float[np.ndarray, " m"], start: Float[np.ndarray, " p"]
) -> Float[np.ndarray, " p"]:
    try:
        from mujoco import minimize
    except ModuleNotFoundError:
        raise MissingExtraError("mujoco", extra="sim", needed_for="The method gauss_newton") from None

    def residual(columns: np.ndarray) -> np.ndarray:
        """(p, n) -> (m + p, n): the data's residuals, then the prior's; a diverged rollout is a very bad one."""
        z = columns.reshape(len(start), -1)
        data = (rollouts.predict(z.T) - problem.observed).T / sd[:, None]
        return np.concatenate([np.nan_to_num(data, nan=1e3), z])

    bound = np.full(len(start), _BOUND)
    found, _ = minimize.least_squares(start, residual, bounds=[-bound, bound], eps=_DIFFERENCE, verbose=0)
    return np.asarray(found).reshape(-1)
