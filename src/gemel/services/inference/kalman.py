"""The ensemble Kalman update: draws move towards an observation by the covariances that the ensemble itself shows.

One step turns draws of a Gaussian belief into draws of its posterior when predictions are linear; otherwise it is a
good guess that the caller corrects (`identify`) or repeats with the next observation (the live twin). Observations
are perturbed, so that the spread after the step is right and not too small (Burgers et al. 1998). Tempering, an
observation split into several weaker ones with noise variances divided by their step, follows Iglesias, Law and Stuart
(2013, ensemble Kalman inversion); the step is chosen so that weighing the ensemble by it would keep half of it.
"""

import numpy as np
from jaxtyping import Float


def kalman_step(
    z: Float[np.ndarray, "n p"],
    predicted: Float[np.ndarray, "n m"],
    observed: Float[np.ndarray, " m"],
    noise_sd: Float[np.ndarray, " m"],
    rng: np.random.Generator,
    *,
    step: float = 1.0,
) -> Float[np.ndarray, "n p"]:
    """The ensemble after the observation, whose noise variance counts `1 / step` times.

    Covariances between parameters and predictions are damped where they do not rise above what an ensemble of this
    size shows by chance, so that small ensembles do not drift along what the data says nothing about.
    """
    count = len(z)
    sd = noise_sd / np.sqrt(step)
    anomalies = (predicted - predicted.mean(axis=0)) / sd / np.sqrt(count - 1)  # A, (n, m), in units of the noise
    centred = (z - z.mean(axis=0)) / np.sqrt(count - 1)
    cross = _damped(centred, anomalies)  # (p, m)
    innovations = (observed - predicted) / sd + rng.standard_normal(predicted.shape)
    if count > len(observed):
        return np.asarray(z + np.linalg.solve(np.eye(len(sd)) + anomalies.T @ anomalies, innovations.T).T @ cross.T)
    # (A'A + I)^-1 = I - A'(I + A A')^-1 A: an n x n system instead of m x m.
    inner = np.linalg.solve(np.eye(count) + anomalies @ anomalies.T, anomalies @ innovations.T)
    return np.asarray(z + (innovations - inner.T @ anomalies) @ cross.T)


def tempering_step(misfits: Float[np.ndarray, " n"], left: float, *, keep: float = 0.5) -> float:
    """Largest step, at most what is `left` of one, whose weights exp(-step misfit) are worth `keep` of the ensemble."""

    def share(step: float) -> float:
        weights = np.exp(-step * (misfits - misfits.min()))
        return float(weights.sum() ** 2 / np.sum(weights**2) / len(weights))

    if share(left) >= keep:
        return left
    low, high = 0.0, left
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if share(middle) >= keep else (low, middle)
    return max(low, 1e-9 * left)


def _damped(centred: Float[np.ndarray, "n p"], anomalies: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "p m"]:
    """Cross covariance, each entry times how far its correlation exceeds chance (after Luo and Bhakta 2020)."""
    cross = centred.T @ anomalies
    spread = np.outer(np.linalg.norm(centred, axis=0), np.linalg.norm(anomalies, axis=0))
    correlation = np.divide(cross, spread, out=np.zeros_like(cross), where=spread > 0.0)
    excess = 1.0 - 1.0 / (len(centred) * np.maximum(correlation**2, 1e-12))
    return np.asarray(cross * np.clip(excess, 0.0, 1.0))
