"""The protocol that a real arm's driver, a stand-in world and a twin all implement.

Three calls make an episode: `reset` brings arm and scene to an initial condition and returns when everything rests,
`observe` reads the sensors now, `act` starts an action and returns one control period later. A skeleton of a driver to
copy is in `examples/driver_skeleton.py`, its explanation in `docs/driver.md`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, UInt8

from gemel.artifacts.capture import Domain
from gemel.geometry import SE3

InitialCondition = Mapping[str, float]
"""Values by the names of `Task.initial_conditions`, SI units. On a real robot a person puts the objects there."""


@dataclass(frozen=True, eq=False)
class Observation:
    """What the sensors say at one moment."""

    time_s: float
    """Time since `reset`, by the robot's clock [s]."""
    joint_positions: Float[np.ndarray, " joint"]
    """By the encoders [rad or m], in the order of `Robot.joint_names`."""
    images: Mapping[str, UInt8[np.ndarray, "_ _ 3"]] = field(default_factory=dict)
    """Newest frame of each camera, RGB; empty for robots without cameras."""
    object_poses: Mapping[str, SE3] = field(default_factory=dict)
    """`T_world_object` where something tracks the objects; world is the robot's nominal base frame."""


@runtime_checkable
class Robot(Protocol):
    """A robot in its scene."""

    @property
    def domain(self) -> Domain:
        """Which side of a comparison its episodes belong to."""
        ...

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the measured joints."""
        ...

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the action's elements."""
        ...

    def reset(self, initial_condition: InitialCondition) -> None:
        """Bring arm and scene to the initial condition; time starts again at zero."""
        ...

    def observe(self) -> Observation:
        """Read the sensors."""
        ...

    def act(self, action: Float[np.ndarray, " action"]) -> None:
        """Start this action and return after one control period. Actions out of range are clipped, not refused."""
        ...
