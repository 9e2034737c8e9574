"""What a planner of pushes needs of a belief: the numbers of the quasi-static push, and where the tip really is."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from gemel.services.policy.estimator import Estimator

_TIP_FRICTION = 0.2
"""Of a tip that slides along an object in motion."""


@dataclass(frozen=True, eq=False)
class PushBelief:
    """The mean of what is believed."""

    physics: Float[np.ndarray, " k"]
    """A row of what `Outline.pushed` needs."""
    offset: Float[np.ndarray, "2"]
    """From where the robot believes its tip to where it is in the object's world [m]."""


@runtime_checkable
class KnowsPushes(Protocol):
    """An estimator that knows more of pushes than its parameters."""

    def push_belief(self) -> PushBelief:
        """What is believed in the first episode."""
        ...


def push_belief(estimator: Estimator, name: str) -> PushBelief:
    """From any estimator; what it does not know is nominal."""
    if isinstance(estimator, KnowsPushes):
        return estimator.push_belief()
    told = dict(zip(estimator.names, estimator.mean[0], strict=True))
    com = [told.get(f"object/{name}/com_{axis}", 0.0) for axis in "xy"]
    return PushBelief(np.array([*com, _TIP_FRICTION, 1.0, 0.0]), np.zeros(2))
