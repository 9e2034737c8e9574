"""The protocol of everything that turns observations into actions: networks, scripts, recordings, remote servers."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from gemel.services.policy.robot import Observation


@dataclass(frozen=True)
class PolicySpec:
    """What a policy needs and gives; checked against the robot before the first step."""

    name: str
    action_names: tuple[str, ...]
    cameras: tuple[str, ...] = ()
    """Cameras whose images it needs."""
    needs_object_poses: bool = False


@runtime_checkable
class Policy(Protocol):
    """Something that acts."""

    @property
    def specification(self) -> PolicySpec:
        """What it needs and gives."""
        ...

    def reset(self) -> None:
        """Forget the last episode."""
        ...

    def act(self, observation: Observation) -> Float[np.ndarray, "chunk action"]:
        """The next actions, one row for each control period; one row means closed loop at every step."""
        ...
