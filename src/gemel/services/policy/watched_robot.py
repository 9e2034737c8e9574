"""A robot whose camera frames are kept."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, UInt8

from gemel.artifacts.capture import Domain
from gemel.services.policy.robot import InitialCondition, Observation, Robot
from gemel.services.policy.site import Site, site_of


@dataclass
class WatchedRobot:
    """A robot whose frames are kept, one list for each camera; they start again at every reset."""

    robot: Robot
    frames: dict[str, list[UInt8[np.ndarray, "_ _ 3"]]] = field(default_factory=dict)

    @property
    def domain(self) -> Domain:
        """Which side of a comparison its episodes belong to."""
        return self.robot.domain

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the measured joints."""
        return self.robot.joint_names

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the action's elements."""
        return self.robot.action_names

    @property
    def site(self) -> Site:
        """Where it stands."""
        return site_of(self.robot)

    def reset(self, initial_condition: InitialCondition) -> None:
        """Bring arm and scene to the initial condition, and forget the frames of the episode before."""
        self.frames = {}
        self.robot.reset(initial_condition)

    def observe(self) -> Observation:
        """Read the sensors and keep the frames."""
        observation = self.robot.observe()
        for name, image in observation.images.items():
            self.frames.setdefault(name, []).append(image)
        return observation

    def act(self, action: Float[np.ndarray, " action"]) -> None:
        """Pass the action on."""
        self.robot.act(action)
