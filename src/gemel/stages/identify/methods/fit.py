"""What every method returns, and the ledger of rollouts that they all keep."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from gemel.services.inference import NoiseLevel, NoiseModel, PriorMap
from gemel.stages.identify.problem import Problem


@dataclass(frozen=True, eq=False)
class Fit:
    """Posterior draws in normal coordinates, and what is worth knowing about how they came about."""

    z: Float[np.ndarray, "n p"]
    weights: Float[np.ndarray, " n"]
    residuals: Float[np.ndarray, " m"]
    """Observed minus predicted at the best parameters."""
    levels: tuple[NoiseLevel, ...]
    rollouts: int
    diverged: int
    notes: tuple[str, ...] = ()
    emulation_error: float = 0.0
    """Root mean square error of the emulator at fresh rollouts, over the noise level."""


@dataclass(eq=False)
class Rollouts:
    """Every simulation that was made of a problem, so that none is wasted."""

    problem: Problem
    prior: PriorMap
    z: list[np.ndarray] = field(default_factory=list)
    predicted: list[np.ndarray] = field(default_factory=list)
    asked: int = 0

    def run(self, z: Float[np.ndarray, "n p"]) -> tuple[Float[np.ndarray, "k p"], Float[np.ndarray, "k m"]]:
        """Simulate draws; those that diverged are left out."""
        predicted = self.problem.predict(self.prior.to_parameters(z))
        finite = np.all(np.isfinite(predicted), axis=1)
        self.asked += len(z)
        self.z.append(z[finite])
        self.predicted.append(predicted[finite])
        return z[finite], predicted[finite]

    @property
    def diverged(self) -> int:
        """How many simulations did not give numbers."""
        return self.asked - sum(len(z) for z in self.z)

    def all(self) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "n m"]]:
        """All simulations so far."""
        return np.concatenate(self.z), np.concatenate(self.predicted)


def log_likelihoods(
    model: NoiseModel, observed: Float[np.ndarray, " m"], predicted: Float[np.ndarray, "n m"]
) -> Float[np.ndarray, " n"]:
    """Of simulated predictions."""
    return model.log_likelihood(model.squares(observed - predicted))
