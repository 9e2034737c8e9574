"""Positions of joints over time: what a robot logged, or what it was told, at any moment."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

TICK_S = 0.02
"""Paths are resampled to this period when robots are led along them [s]."""


def steps_of_tick(timestep_s: float) -> int:
    """Physics steps of a tick."""
    return max(1, round(TICK_S / timestep_s))


@dataclass(frozen=True, eq=False)
class JointPath:
    """Positions at some times, on straight lines between them, held before the first and after the last."""

    times_s: Float[np.ndarray, " t"]
    positions: Float[np.ndarray, "t joint"]
    """[rad or m], one column for each logged joint; a scene may have none at all."""

    def at(self, times_s: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n joint"]:
        """Positions at any times."""
        found = np.empty((*times_s.shape, self.positions.shape[1]))
        for column, positions in enumerate(self.positions.T):
            found[..., column] = np.interp(times_s, self.times_s, positions)
        return found
