"""The protocol of everything that says what is believed of physics while a robot works, for many episodes at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError

Planar = Float[np.ndarray, "n 3"]
Points = Float[np.ndarray, "n 2"]


@runtime_checkable
class Estimator(Protocol):
    """Means and standard deviations of named parameters, brought up to date once every control period."""

    @property
    def names(self) -> tuple[str, ...]:
        """Which parameters, in the order of the columns."""
        ...

    def start(self, count: int) -> None:
        """Begin so many episodes: what was learnt before is forgotten."""
        ...

    def update(self, object_xyyaw: Planar, tip_xy: Points, past_action_world: Points) -> None:
        """One control period later: the object's pose, the tip by the robot's kinematics [m, rad] and the displacement
        that was commanded for the period that has just ended [m], all as measured; zero before the first."""
        ...

    @property
    def mean(self) -> Float[np.ndarray, "n p"]:
        """What is believed, SI units."""
        ...

    @property
    def sigma(self) -> Float[np.ndarray, "n p"]:
        """How far it may be off: one standard deviation."""
        ...


@dataclass(frozen=True)
class Prior:
    """What is believed of one parameter before anything is touched."""

    name: str
    mean: float
    sigma: float
    low: float
    high: float
    """No value outside these is possible."""

    def __post_init__(self) -> None:
        if not (self.sigma >= 0.0 and self.low < self.high and self.low <= self.mean <= self.high):
            raise ConfigError(
                f"The prior of {self.name} is {self.mean:g} ± {self.sigma:g} between {self.low:g} and {self.high:g}.",
                remedy="give a mean within the range and a standard deviation that is not negative",
            )


def even_prior(name: str, low: float, high: float) -> Prior:
    """Nothing is known but the range: the mean and standard deviation of an even distribution."""
    return Prior(name, 0.5 * (low + high), (high - low) / 12.0**0.5, low, high)


def prior_of(priors: Sequence[Prior], name: str) -> Prior:
    """The prior of a name."""
    found = next((prior for prior in priors if prior.name == name), None)
    if found is None:
        raise ConfigError(
            f"There is no prior of {name}; there are priors of {', '.join(p.name for p in priors) or 'nothing'}.",
            remedy="give one, at least its range",
        )
    return found


class Fixed:
    """Says the same for a whole episode: the truth, or the prior, or the prior with an error."""

    def __init__(self, names: Sequence[str], mean: Float[np.ndarray, "*n p"], sigma: Float[np.ndarray, "*n p"]) -> None:
        self.names = tuple(names)
        self._mean, self._sigma = np.atleast_2d(mean), np.atleast_2d(sigma)
        self.start(len(self._mean))

    def start(self, count: int) -> None:
        """Begin so many episodes; one row stands for all."""
        self.mean = np.broadcast_to(self._mean, (count, len(self.names))).astype(np.float64)
        self.sigma = np.broadcast_to(self._sigma, (count, len(self.names))).astype(np.float64)

    def update(self, object_xyyaw: Planar, tip_xy: Points, past_action_world: Points) -> None:
        """Nothing is learnt."""
