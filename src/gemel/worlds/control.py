"""The robot's own controller: from actions to joint targets, with what it believes about itself."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3, SO3
from gemel.worlds.kinematics import Kinematics
from gemel.worlds.machine import Machine

Joints = Float[np.ndarray, " joint"]
TIP_HEIGHT_M = 0.015
"""Height at which the pusher's tip is carried over the table [m]."""
LARGEST_STEP_M = 0.02
LEASH_M = 0.07
"""The target never runs further ahead of the measured tip than this; it keeps a blocked arm from winding up."""
WORKSPACE = ((0.16, 0.74), (-0.38, 0.38))
DOWN = SO3.exp(np.array([0.0, np.pi, 0.0]))
"""Tool axis down, wrist camera on the side of the base."""


@runtime_checkable
class Control(Protocol):
    """Turns actions into targets for the joints' readings."""

    def start(self, readings: Joints) -> None:
        """Begin an episode with the joints as they are."""
        ...

    def targets(self, action: Float[np.ndarray, " action"], readings: Joints) -> Joints:
        """Joint targets at the end of the control period."""
        ...


class JointControl:
    """Actions are joint targets."""

    def __init__(self, machine: Machine, kinematics: Kinematics) -> None:
        del kinematics
        self._low, self._high = joint_limits(machine)

    def start(self, readings: Joints) -> None:
        """Nothing to remember."""

    def targets(self, action: Float[np.ndarray, " action"], readings: Joints) -> Joints:
        """The action itself, within the joints' limits."""
        return np.clip(action, self._low, self._high)


class TipControl:
    """Actions are displacements of the pusher's tip in x and y [m], at most 2 cm along each axis."""

    def __init__(self, machine: Machine, kinematics: Kinematics) -> None:
        self._arm, self._kinematics = machine.arms[0], kinematics
        self._xy = np.zeros(2)
        self._q = machine.home.copy()

    def start(self, readings: Joints) -> None:
        """The tip's target is where the tip is."""
        self._q = readings.copy()
        self._xy = self._kinematics.forward(self._arm, readings).translation[:2].copy()

    def targets(self, action: Float[np.ndarray, " action"], readings: Joints) -> Joints:
        """Joints that carry the tip by the action, at constant height and with the tool upright."""
        wanted = self._xy + np.clip(action, -LARGEST_STEP_M, LARGEST_STEP_M)
        measured = self._kinematics.forward(self._arm, readings).translation[:2]
        ahead = wanted - measured
        length = float(np.linalg.norm(ahead))
        if length > LEASH_M:
            wanted = measured + ahead * (LEASH_M / length)
        (x_low, x_high), (y_low, y_high) = WORKSPACE
        self._xy = np.clip(wanted, [x_low, y_low], [x_high, y_high])
        self._q = tip_joints(self._kinematics, self._xy, self._q)
        return self._q


def tip_joints(kinematics: Kinematics, xy: Float[np.ndarray, "2"], start: Joints) -> Joints:
    """Joints of the only arm that put the tip over a place on the table."""
    goal = SE3(DOWN, np.array([xy[0], xy[1], TIP_HEIGHT_M]))
    (arm,) = kinematics.machine.arms
    return kinematics.solve(arm, goal, start, iterations=60)[0]


def joint_limits(machine: Machine) -> tuple[Joints, Joints]:
    """Lower and upper limits of all measured joints; a gripper may be told to close on something."""
    rows = []
    for arm in machine.arms:
        rows += [link.range_rad for link in arm.links]
        rows += [(-0.02, 0.044)] if arm.has_gripper else []
    low, high = np.array(rows).T
    return low, high
