"""Few simulations for many parameters: draws of the prior, simulated, weighed, and drawn anew where they fit.

An emulator needs more simulations than it has coefficients; with fewer it is sure of a place where no true simulation
fits. A likelihood in which a whole push counts as a fraction of a number is broad, though: a hundred draws of the prior
reach it. So every simulation here is a true one and is weighed by its own likelihood
(`services/inference/importance.py`); each generation is drawn from where the weights of all before lie. The weights are
tempered until some dozens of simulations carry them: an interval of three lucky simulations would be too narrow.
"""

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError
from gemel.services.inference import NoiseModel, Population, PriorMap, sample_importance
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.methods.fit import Fit, Rollouts
from gemel.stages.identify.problem import Problem

_LEAST = 8
_SCATTER = 0.3
"""Standard deviation of what is added to repeated draws, over the draws' own."""


def fit_population(problem: Problem, prior: PriorMap, config: IdentifyConfig, rng: np.random.Generator) -> Fit:
    """Posterior draws of a problem."""
    size = config.ensemble_size(len(problem.parameters))
    rollouts, model = Rollouts(problem, prior), NoiseModel(problem.noise)
    best, residuals = -np.inf, np.zeros(0)

    def log_likelihood(z: np.ndarray) -> np.ndarray:
        nonlocal best, residuals
        predicted = rollouts.predict(z)
        found = rollouts.log_likelihood(model, predicted)
        at = int(np.argmax(found))
        if found[at] > best:
            best, residuals = float(found[at]), np.asarray(problem.observed - predicted[at])
        return found

    first = prior.draw(2 * size, rng)
    population = Population.of_prior(first, log_likelihood(first))
    if np.isfinite(population.log_likelihood).sum() < _LEAST:
        raise ConfigError(
            f"{rollouts.diverged} of {rollouts.asked} simulations diverged; at least {_LEAST} have to run.",
            remedy="narrow the prior to values that the simulator can take, or shorten its time step",
        )
    population = sample_importance(
        log_likelihood, population, None, rng, size=size, worth=config.worth, generations=config.rounds,
        shaped_by=config.least_worth,
    )  # fmt: skip
    power = population.power(config.least_worth)
    draws = _smoothed(population.draws(config.draws, rng, power=power), rng)
    return Fit(
        z=draws,
        weights=np.full(len(draws), 1.0 / len(draws)),
        residuals=residuals,
        levels=model.levels(residuals),
        rollouts=rollouts.asked,
        diverged=rollouts.diverged,
        notes=_notes(population, power),
    )


def _smoothed(draws: Float[np.ndarray, "n p"], rng: np.random.Generator) -> Float[np.ndarray, "n p"]:
    """Draws without repetitions, of the same mean and covariance: shrunk and scattered (Liu and West 2001)."""
    middle, p = draws.mean(axis=0), draws.shape[1]
    root = np.linalg.cholesky(np.cov(draws.T).reshape(p, p) + 1e-12 * np.eye(p))
    scattered = _SCATTER * rng.standard_normal(draws.shape) @ root.T
    return np.asarray(middle + np.sqrt(1.0 - _SCATTER**2) * (draws - middle) + scattered)


def _notes(population: Population, power: float) -> tuple[str, ...]:
    if power == 1.0:
        return ()
    return (
        f"The simulations are rough: {len(population.z)} of them are worth {population.worth:.0f} independent draws. "
        f"The likelihood was taken to the power {power:.2f}, which widens the intervals.",
    )
