"""A cheap stand-in for the simulator near the answer: Gaussian processes on principal components of its predictions.

After "calibrate, emulate, sample" (Cleary et al. 2021): rollouts that an ensemble method has made anyway are fitted,
and the posterior is drawn from the fit. Each component is a quadratic polynomial plus a Gaussian process of one
length, plus independent roughness: contact makes predictions jump by fractions of a millimetre between neighbouring
parameters, and that must not be taken for information. Lengths and roughness are chosen by marginal likelihood.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_LENGTHS = (0.75, 1.5, 3.0, 6.0)
"""Each twice the one before, in standard deviations of the ball."""
_ROUGHNESSES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_MOST_COMPONENTS = 24


@dataclass(frozen=True, eq=False)
class Ball:
    """An ellipsoid in parameter space: where an emulator may be asked."""

    centre: Float[np.ndarray, " p"]
    root: Float[np.ndarray, "p p"]
    """Lower Cholesky factor of the covariance whose unit sphere is scaled by `radius`."""
    radius: float

    @staticmethod
    def around(z: Float[np.ndarray, "n p"], *, deviations: float, smallest: float) -> "Ball":
        """The ellipsoid of so many standard deviations about draws, none of them taken shorter than `smallest`."""
        centre = z.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov(z.T).reshape(z.shape[1], -1))
        covariance = vectors @ np.diag(np.maximum(values, smallest**2)) @ vectors.T
        return Ball(centre, np.linalg.cholesky(covariance), deviations)

    def coordinates(self, z: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n p"]:
        """In standard deviations from the centre."""
        return np.asarray(np.linalg.solve(self.root, (z - self.centre).T).T)

    def distance(self, z: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " n"]:
        """From the centre, in standard deviations."""
        return np.asarray(np.linalg.norm(self.coordinates(z), axis=1))


@dataclass(frozen=True, eq=False)
class _Process:
    """One component's Gaussian process."""

    length: float
    roughness: float
    coefficients: Float[np.ndarray, " basis"]
    weights: Float[np.ndarray, " n"]


@dataclass(frozen=True, eq=False)
class Emulator:
    """Predictions `mean + amplitudes(z) @ directions`, in units of the scales that they were fitted in."""

    ball: Ball
    points: Float[np.ndarray, "n p"]
    """Training points in coordinates of the ball."""
    mean: Float[np.ndarray, " m"]
    directions: Float[np.ndarray, "k m"]
    processes: tuple[_Process, ...]
    left_out: float
    """Root mean square of what the kept components leave out, in units of the scales."""

    @staticmethod
    def fit(
        z: Float[np.ndarray, "n p"],
        predicted: Float[np.ndarray, "n m"],
        scale: Float[np.ndarray, " m"],
        ball: Ball,
    ) -> "Emulator":
        """Fit rollouts; `scale` says which differences matter."""
        points = ball.coordinates(z)
        mean = predicted.mean(axis=0)
        u, s, vt = np.linalg.svd((predicted - mean) / scale, full_matrices=False)
        kept = int(np.clip(np.sum(s**2 > 1e-5 * np.sum(s**2)), 1, _MOST_COMPONENTS))
        left = float(np.sqrt(np.sum(s[kept:] ** 2) / predicted.size))
        amplitudes = u[:, :kept] * s[:kept]
        return Emulator(ball, points, mean, vt[:kept] * scale, _fit_all(points, amplitudes), left)

    def amplitudes(self, z: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n k"]:
        """Of each direction at new points."""
        at = self.ball.coordinates(z)
        squares = _squared_distances(at, self.points)
        kernels = _kernels(squares, min(process.length for process in self.processes))
        basis = _basis(at, len(self.points))
        columns = [basis @ p.coefficients + kernels[p.length] @ p.weights for p in self.processes]
        return np.stack(columns, axis=1)

    def predict(self, z: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Emulated predictions."""
        return np.asarray(self.mean + self.amplitudes(z) @ self.directions)


def _fit_all(points: Float[np.ndarray, "n p"], amplitudes: Float[np.ndarray, "n k"]) -> tuple[_Process, ...]:
    """The best process of each component; one eigendecomposition per length serves all of them."""
    squares = _squared_distances(points, points)
    basis = _basis(points, len(points))
    best: list[tuple[float, _Process]] = [(np.inf, _Process(1.0, 1.0, np.zeros(0), np.zeros(0)))] * amplitudes.shape[1]
    for length in _LENGTHS:
        values, vectors = np.linalg.eigh(np.exp(-0.5 * squares / length**2))
        turned, heights = vectors.T @ basis, vectors.T @ amplitudes
        for roughness in _ROUGHNESSES:
            precision = 1.0 / (np.maximum(values, 0.0) + roughness)
            normal = turned.T @ (precision[:, None] * turned)
            coefficients = np.linalg.solve(normal, turned.T @ (precision[:, None] * heights))
            rest = heights - turned @ coefficients
            freedom = len(points) - basis.shape[1]
            variance = np.maximum(np.sum(precision[:, None] * rest**2, axis=0) / freedom, 1e-300)
            cost = freedom * np.log(variance) - np.log(precision).sum() + np.linalg.slogdet(normal)[1]
            weights = vectors @ (precision[:, None] * rest)
            for k in np.flatnonzero(cost < [b[0] for b in best]):
                best[k] = (float(cost[k]), _Process(length, roughness, coefficients[:, k], weights[:, k]))
    return tuple(process for _, process in best)


def _basis(x: Float[np.ndarray, "n p"], points: int) -> Float[np.ndarray, "n b"]:
    """1, x and, where there are points enough to fit them, all products of two."""
    p = x.shape[1]
    ones = np.ones((len(x), 1))
    if points < 2 * (1 + p + p * (p + 1) // 2):
        return np.concatenate([ones, x], axis=1)
    first, second = np.triu_indices(p)
    return np.concatenate([ones, x, x[:, first] * x[:, second]], axis=1)


def _kernels(squares: Float[np.ndarray, "n m"], shortest: float) -> dict[float, Float[np.ndarray, "n m"]]:
    """Kernels of all lengths down to the shortest; each is the fourth power of the one twice as long."""
    kernels = {_LENGTHS[-1]: np.exp(-0.5 / _LENGTHS[-1] ** 2 * squares)}
    for length in _LENGTHS[-2::-1]:
        if length >= shortest:
            kernels[length] = (kernels[2.0 * length] ** 2) ** 2
    return kernels


def _squared_distances(a: Float[np.ndarray, "n p"], b: Float[np.ndarray, "m p"]) -> Float[np.ndarray, "n m"]:
    found = np.sum(a**2, axis=1)[:, None] + np.sum(b**2, axis=1) - 2.0 * a @ b.T
    return np.asarray(np.maximum(found, 0.0))
