"""Stein variational gradient descent: particles drift to the posterior and push each other apart.

Liu and Wang (2016), with multiple shooting as Heiden et al. (2022) do for simulators. Slopes are not derivatives of
one rollout, which contact makes useless, but a least-squares fit over the particles themselves: each particle's
neighbours, weighted by distance, tell which way predictions change around it.
"""

import numpy as np
from jaxtyping import Float

from gemel.services.inference import NoiseModel, PriorMap
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.methods.fit import Fit, Rollouts, counted_noise, log_likelihoods
from gemel.stages.identify.problem import Problem

_ROUNDS = 24
_STEP = 0.3
_MEMORY = 4
"""Rounds whose rollouts still serve for slopes."""


def fit_svgd(problem: Problem, prior: PriorMap, config: IdentifyConfig, rng: np.random.Generator) -> Fit:
    """Particles after a fixed number of rounds."""
    p = len(problem.parameters)
    size = config.ensemble or int(np.clip(16 * p, 48, 128))
    rollouts, model = Rollouts(problem, prior), NoiseModel(problem.noise)
    z, squares = prior.draw(size, rng), np.zeros((size, p))
    for round_number in range(_ROUNDS):
        z, predicted = rollouts.run(z)
        squares = squares[: len(z)]
        best = int(np.argmax(log_likelihoods(model, problem.observed, predicted)))
        sd = counted_noise(model, problem.observed - predicted[best])
        known_z = np.concatenate(rollouts.z[-_MEMORY:])
        known = np.concatenate(rollouts.predicted[-_MEMORY:]) / sd
        gradient = _gradients(z, predicted / sd, known_z, known, problem.observed / sd)
        temper = min(1.0, (round_number + 1) / (0.5 * _ROUNDS))
        drift = _stein(z, temper * gradient - z)
        squares = 0.9 * squares + 0.1 * drift**2 if round_number else drift**2
        z = z + _STEP * drift / (np.sqrt(squares) + 1e-6) * np.maximum(0.2, 1.0 - round_number / _ROUNDS)
    z, predicted = rollouts.run(z)
    log_likelihood = log_likelihoods(model, problem.observed, predicted)
    residuals = problem.observed - predicted[np.argmax(log_likelihood)]
    weights = np.full(len(z), 1.0 / len(z))
    return Fit(z, weights, residuals, model.levels(residuals), rollouts.asked, rollouts.diverged)


def _gradients(
    z: Float[np.ndarray, "n p"],
    predicted: Float[np.ndarray, "n m"],
    known_z: Float[np.ndarray, "k p"],
    known: Float[np.ndarray, "k m"],
    observed: Float[np.ndarray, " m"],
) -> Float[np.ndarray, "n p"]:
    """Gradient of the log likelihood at each particle, from slopes smoothed over its neighbours."""
    spread = np.maximum(known_z.std(axis=0), 1e-3)
    found = np.empty_like(z)
    for i in range(len(z)):
        away = (known_z - z[i]) / spread
        weight = np.exp(-0.5 * np.sum(away**2, axis=1)) + 1e-3
        design = np.concatenate([np.ones((len(away), 1)), known_z - z[i]], axis=1)
        normal = design.T @ (weight[:, None] * design) + 1e-6 * np.eye(design.shape[1])
        slopes = np.linalg.solve(normal, design.T @ (weight[:, None] * known))[1:]
        found[i] = slopes @ (observed - predicted[i])
    return found


def _stein(z: Float[np.ndarray, "n p"], gradient: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n p"]:
    """The direction in which the particles' distribution approaches the posterior fastest; median bandwidth."""
    between = z[:, None, :] - z[None, :, :]
    squares = np.sum(between**2, axis=-1)
    width = max(float(np.median(squares)) / np.log(len(z) + 1.0), 1e-6)
    kernel = np.exp(-squares / width)
    push = 2.0 / width * np.einsum("ij,ijp->ip", kernel, between)
    return np.asarray((kernel @ gradient + push) / len(z))
