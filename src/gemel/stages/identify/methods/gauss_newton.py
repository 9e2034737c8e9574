"""Least squares by `mujoco.minimize` and a linearised interval: right for smooth problems, fast, blind to the rest.

Derivatives are finite differences of rollouts, all of them in one batch, or, with `derivatives = "mjx"`, MuJoCo's own
where a problem offers them. Where contact makes predictions rough, neither tells anything about the slope and the
search stalls; the emulator of `eki` looks further.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError, MissingExtraError
from gemel.services.inference import NoiseModel, PriorMap
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.methods.fit import Fit, Rollouts, counted_noise
from gemel.stages.identify.problem import Differentiable, Problem

_DIFFERENCE = 1e-3
_BOUND = 4.0
_ROUNDS = 2
Slopes = Callable[[np.ndarray], np.ndarray]
"""Derivatives (m, p) of the predictions at normal coordinates (p,)."""


def fit_gauss_newton(problem: Problem, prior: PriorMap, config: IdentifyConfig, rng: np.random.Generator) -> Fit:
    """A Gaussian about the maximum a posteriori, in normal coordinates."""
    rollouts = Rollouts(problem, prior)
    slopes_of = _own_slopes(problem, prior) if config.derivatives == "mjx" else partial(slopes_at, rollouts)
    start = np.zeros(len(problem.parameters))
    model = NoiseModel(problem.noise)
    sd = problem.noise.scale.copy()
    for _ in range(_ROUNDS):  # the noise level follows from the first fit's residuals
        start = _minimum(rollouts, problem, sd, start, slopes_of)
        residuals = problem.observed - rollouts.predict(start[None])[0]
        sd = counted_noise(model, residuals)
    slopes = slopes_of(start) / sd[:, None]
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


def _own_slopes(problem: Problem, prior: PriorMap) -> Slopes:
    """The problem's own derivatives, in normal coordinates."""
    if not isinstance(problem, Differentiable):
        raise ConfigError(
            f'derivatives = "mjx" was asked for, but {type(problem).__name__} offers no derivatives of its own.',
            remedy='use derivatives = "differences"',
        )

    def slopes(z: Float[np.ndarray, " p"]) -> Float[np.ndarray, "m p"]:
        steps = _DIFFERENCE * np.eye(len(z))
        ends = prior.to_parameters(np.concatenate([z + steps, z - steps]))
        by_z = (ends[: len(z)] - ends[len(z) :]).T / (2.0 * _DIFFERENCE)  # how parameters change with coordinates
        return np.asarray(problem.slopes(prior.to_parameters(z[None])[0]) @ by_z)

    return slopes


def _minimum(
    rollouts: Rollouts,
    problem: Problem,
    sd: Float[np.ndarray, " m"],
    start: Float[np.ndarray, " p"],
    slopes_of: Slopes,
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

    def jacobian(z: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.concatenate([np.nan_to_num(slopes_of(z.reshape(-1))) / sd[:, None], np.eye(len(start))])

    bound = np.full(len(start), _BOUND)
    found, _ = minimize.least_squares(start, residual, bounds=[-bound, bound], jacobian=jacobian, verbose=0)
    return np.asarray(found).reshape(-1)
