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
    _lost: int = 0

    def run(self, z: Float[np.ndarray, "n p"]) -> tuple[Float[np.ndarray, "k p"], Float[np.ndarray, "k m"]]:
        """Simulate draws; those that diverged are left out."""
        predicted = self.predict(z)
        finite = np.all(np.isfinite(predicted), axis=1)
        self.keep(z[finite], predicted[finite])
        return z[finite], predicted[finite]

    def keep(self, z: Float[np.ndarray, "k p"], predicted: Float[np.ndarray, "k m"]) -> None:
        """Remember simulations that ran."""
        self.z.append(z)
        self.predicted.append(predicted)

    def predict(self, z: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Simulate draws and keep all rows, NaN where a simulation diverged; nothing is remembered but the count."""
        self.asked += len(z)
        predicted = self.problem.predict(self.prior.to_parameters(z))
        self._lost += int(np.sum(~np.all(np.isfinite(predicted), axis=1)))
        return predicted

    def log_likelihood(self, model: NoiseModel, predicted: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " n"]:
        """Of simulated predictions; minus infinity where one diverged."""
        finite = np.all(np.isfinite(predicted), axis=1)
        found = np.full(len(predicted), -np.inf)
        found[finite] = log_likelihoods(model, self.problem.observed, predicted[finite])
        return found

    @property
    def diverged(self) -> int:
        """How many simulations did not give numbers."""
        return self._lost

    def all(self) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "n m"]]:
        """All simulations so far."""
        return np.concatenate(self.z), np.concatenate(self.predicted)


def log_likelihoods(
    model: NoiseModel, observed: Float[np.ndarray, " m"], predicted: Float[np.ndarray, "n m"]
) -> Float[np.ndarray, " n"]:
    """Of simulated predictions."""
    return model.log_likelihood(model.squares(observed - predicted))


def counted_noise(model: NoiseModel, residuals: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Standard deviations at the inferred level, larger where many residuals are worth few independent ones."""
    sd = np.array(model.layout.scale)
    for group, level in zip(model.groups, model.levels(residuals), strict=True):
        sd[group] *= level.level * np.sqrt(max(1.0, level.count / max(level.effective_count, 1e-9)))
    return sd
