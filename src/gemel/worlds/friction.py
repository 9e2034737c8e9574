"""Table friction that differs from place to place: a smooth random field, and its mean over what was swept."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_WAVE_COUNT = 40
_LOWEST_FACTOR = 0.25
"""No patch gets slipperier than this part of the mean."""


@dataclass(frozen=True, eq=False)
class FrictionMap:
    """Friction coefficient of the table as a function of the place: mean x (1 + a sum of random plane waves)."""

    mean: float
    waves: Float[np.ndarray, "wave 3"]
    """Wave vector [rad/m] and phase [rad]."""
    amplitude: float

    @staticmethod
    def random(rng: np.random.Generator, *, mean: float, unevenness: float, patch_m: float) -> "FrictionMap":
        """A field of relative standard deviation `unevenness` whose patches are about `patch_m` across."""
        length = np.pi / patch_m * rng.uniform(0.4, 1.2, _WAVE_COUNT)  # half a wave is one patch
        heading, phase = rng.uniform(0.0, 2.0 * np.pi, (2, _WAVE_COUNT))
        waves = np.stack([length * np.cos(heading), length * np.sin(heading), phase], axis=-1)
        return FrictionMap(mean, waves, unevenness * float(np.sqrt(2.0 / _WAVE_COUNT)))

    def at(self, xy: Float[np.ndarray, "*n 2"]) -> Float[np.ndarray, "*n"]:
        """Friction coefficients at places on the table [m]."""
        phases = xy @ self.waves[:, :2].T + self.waves[:, 2]
        factor = 1.0 + self.amplitude * np.sum(np.cos(phases), axis=-1)
        return np.asarray(self.mean * np.maximum(factor, _LOWEST_FACTOR))
