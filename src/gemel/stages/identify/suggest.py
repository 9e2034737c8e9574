"""Which interactions to record next: those whose outcome the present belief is least sure of.

Each candidate is simulated under draws of the belief. In a linear Gaussian world, observing outcomes with covariance
S under noise N shrinks the log volume of the posterior by half of log det(1 + N^-1 S) (expected information gain,
Lindley 1956; Chaloner and Verdinelli 1995, section 2); candidates are chosen greedily, each given those before it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief

Outcome = Callable[[Float[np.ndarray, "n p"]], Float[np.ndarray, "n m"]]
"""Draws of the parameters to what would be observed, in units of the expected error."""


@dataclass(frozen=True, eq=False)
class Push:
    """A straight push in the frame of the object: from where, along what, how far."""

    start: tuple[float, float]
    """Where the tip starts [m]."""
    direction_rad: float
    length_m: float
    speed_m_s: float = 0.1

    @property
    def words(self) -> str:
        """As one would tell a person."""
        x, y = (1e2 * value for value in self.start)
        towards_deg = (np.degrees(self.direction_rad) + 180.0) % 360.0 - 180.0
        return (
            f"start {x:+.1f} cm along x, {y:+.1f} cm along y of the object; push {1e2 * self.length_m:.0f} cm towards "
            f"{towards_deg:+.0f} degrees at {1e2 * self.speed_m_s:.0f} cm/s"
        )


@dataclass(frozen=True, eq=False)
class Suggestion:
    """A chosen candidate."""

    index: int
    gain_nats: float
    """Expected shrinkage of the posterior's log volume by this one, given those before it."""


def suggest(
    belief: Belief, outcomes: Sequence[Outcome], count: int, rng: np.random.Generator, *, draws: int = 48
) -> tuple[Suggestion, ...]:
    """The `count` candidates that together should teach most, best first."""
    chosen_draws = belief.samples[rng.choice(len(belief.samples), size=draws, p=belief.weights)]
    features = [_features(outcome(chosen_draws)) for outcome in outcomes]
    found: list[Suggestion] = []
    inner = np.eye(draws)  # of all that is observed so far: I + A A' over draws has the determinant of 1 + N^-1 S
    for _ in range(min(count, len(features))):
        base = np.linalg.slogdet(inner)[1]
        gains = [
            -np.inf if any(s.index == i for s in found) else 0.5 * (np.linalg.slogdet(inner + f @ f.T)[1] - base)
            for i, f in enumerate(features)
        ]
        best = int(np.argmax(gains))
        found.append(Suggestion(best, float(gains[best])))
        inner = inner + features[best] @ features[best].T
    return tuple(found)


def pushes_around(outline: Float[np.ndarray, "n 2"], *, tip_radius_m: float, sides: int = 16) -> tuple[Push, ...]:
    """Pushes from all sides of an object, each towards its middle and to both sides of it."""
    middle = 0.5 * (outline.min(axis=0) + outline.max(axis=0))
    radius = float(np.linalg.norm(outline - middle, axis=1).max()) + tip_radius_m + 0.01
    found = []
    for angle in np.arange(sides) * 2.0 * np.pi / sides:
        inwards = np.array([-np.cos(angle), -np.sin(angle)])
        across = np.array([-inwards[1], inwards[0]])
        for aside in (-0.5, 0.0, 0.5):
            start = middle - radius * inwards + aside * radius * across
            found.append(Push((float(start[0]), float(start[1])), float(angle + np.pi), radius + 0.05))
    return tuple(found)


def _features(predicted: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n m"]:
    """Anomalies over draws; a diverged draw tells nothing."""
    finite = np.all(np.isfinite(predicted), axis=1)
    middle = predicted[finite].mean(axis=0) if finite.any() else np.zeros(predicted.shape[1])
    return np.where(finite[:, None], predicted - middle, 0.0) / np.sqrt(max(int(finite.sum()) - 1, 1))
