"""A similarity: rotation, translation and scale that bring a model to its place."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.geometry import SO3


@dataclass(frozen=True, eq=False)
class SimilarityPose:
    """p_world = scale R p_model + t."""

    scale: float
    R_world_model: Float[np.ndarray, "3 3"]
    t_world: Float[np.ndarray, "3"]
    """[m]"""

    def __call__(self, points: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
        """Points of the model in the world [m]."""
        return self.scale * points @ self.R_world_model.T + self.t_world

    def moved(self, step: Float[np.ndarray, "7"]) -> "SimilarityPose":
        """After a shift [m], a turn about its own origin [rad] and a change of the scale's logarithm."""
        R = SO3.exp(step[3:6]).as_matrix() @ self.R_world_model
        return SimilarityPose(self.scale * float(np.exp(step[6])), R, self.t_world + step[:3])


def spread_rotations(count: int) -> Float[np.ndarray, "n 3 3"]:
    """Rotations evenly spread over all of them: super-Fibonacci spirals (Alexa, CVPR 2022)."""
    s = np.arange(count) + 0.5
    r, R = np.sqrt(s / count), np.sqrt(1.0 - s / count)
    a, b = 2.0 * np.pi * s / np.sqrt(2.0), 2.0 * np.pi * s / 1.533751168755204288118041
    return SO3(np.stack([r * np.sin(a), r * np.cos(a), R * np.sin(b), R * np.cos(b)], axis=-1)).as_matrix()
