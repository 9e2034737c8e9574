"""Stein variational gradient descent: particles drift to the posterior and push each other apart.

Liu and Wang (2016), with multiple shooting as Heiden et al. (2022) do for simulators and steps measured by the mean
curvature (Wang et al. 2019), since some parameters are known a hundred times better than others. Slopes are not
derivatives of one rollout, which contact makes useless, but a least-squares fit over the particles themselves: each
particle's neighbours, weighted by distance, tell which way predictions change around it.
"""

import numpy as np
from jaxtyping import Float

from gemel.services.inference import NoiseModel, PriorMap
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.methods.fit import Fit, Rollouts, counted_noise, log_likelihoods
from gemel.stages.identify.problem import Problem

_ROUNDS = 30
_STEP = 0.5
_MEMORY = 4
"""Rounds whose rollouts still serve for slopes."""


def fit_svgd(problem: Problem, prior: PriorMap, config: IdentifyConfig, rng: np.random.Generator) -> Fit:
    """Particles after a fixed number of rounds."""
    p = len(problem.parameters)
    size = config.ensemble or int(np.clip(16 * p, 48, 128))
    rollouts, model = Rollouts(problem, prior), NoiseModel(problem.noise)
    z = prior.draw(size, rng)
    for round_number in range(_ROUNDS):
        z, predicted = rollouts.run(z)
        best = int(np.argmax(log_likelihoods(model, problem.observed, predicted)))
        sd = counted_noise(model, problem.observed - predicted[best])
        known_z = np.concatenate(rollouts.z[-_MEMORY:])
        known = np.concatenate(rollouts.predicted[-_MEMORY:]) / sd
        temper = min(1.0, ((round_number + 1) / (0.5 * _ROUNDS)) ** 2)
        gradient, curvature = _gradients(z, predicted / sd, known_z, known, problem.observed / sd)
        z = z + _STEP * _stein(z, temper * gradient - z, temper * curvature + np.eye(p))
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
) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "p p"]]:
    """Gradients of the log likelihood and its mean curvature, from slopes smoothed over each particle's neighbours."""
    spread = np.maximum(known_z.std(axis=0), 1e-3)
    found, curvature = np.empty_like(z), np.zeros((z.shape[1], z.shape[1]))
    for i in range(len(z)):
        away = (known_z - z[i]) / spread
        weight = np.exp(-0.5 * np.sum(away**2, axis=1)) + 1e-3
        design = np.concatenate([np.ones((len(away), 1)), away], axis=1)
        normal = design.T @ (weight[:, None] * design) + 1e-9 * np.eye(design.shape[1])
        slopes = np.linalg.solve(normal, design.T @ (weight[:, None] * known))[1:] / spread[:, None]
        found[i] = slopes @ (observed - predicted[i])
        curvature += slopes @ slopes.T / len(z)
    return found, curvature


def _stein(
    z: Float[np.ndarray, "n p"], gradient: Float[np.ndarray, "n p"], curvature: Float[np.ndarray, "p p"]
) -> Float[np.ndarray, "n p"]:
    """The direction in which the particles approach the posterior fastest, distances measured by the curvature."""
    between = z[:, None, :] - z[None, :, :]
    squares = np.einsum("ijp,pq,ijq->ij", between, curvature, between)
    width = max(float(np.median(squares)) / np.log(len(z) + 1.0), 1e-6)
    kernel = np.exp(-squares / width)
    pull = np.linalg.solve(curvature, (kernel @ gradient).T).T
    push = 2.0 / width * np.einsum("ij,ijp->ip", kernel, between)
    return np.asarray((pull + push) / kernel.sum(axis=1, keepdims=True))
