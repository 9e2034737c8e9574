"""From actions to what servos are told, for many robots at once: the twin's copy of the robot's own controller."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from gemel.services.kinematics.chain import Chain

LEASH_M = 0.07
"""A tip's target runs no further ahead of the measured tip than this; it keeps a blocked arm from winding up."""

Readings = Float[np.ndarray, "n joint"]
Actions = Float[np.ndarray, "n action"]
Rows = Int[np.ndarray, " row"]
Places = Float[np.ndarray, "n 2"]


@runtime_checkable
class Control(Protocol):
    """Turns actions into targets for the joints' readings."""

    def start(self, readings: Float[np.ndarray, "row joint"], rows: Rows) -> None:
        """Some robots begin an episode with their joints as they are."""
        ...

    def targets(self, actions: Actions, readings: Readings) -> Readings:
        """Joint targets at the end of the control period."""
        ...


@runtime_checkable
class Arm(Protocol):
    """What carries a tip over the table."""

    def tips(self, q: Readings) -> Places:
        """Where tips are by the robot's own kinematics [m]."""
        ...

    def reach(self, places: Places, q: Readings) -> Readings:
        """Joint values near `q` that put tips there."""
        ...


class JointControl:
    """Actions are joint targets."""

    def __init__(self, low: Float[np.ndarray, " joint"], high: Float[np.ndarray, " joint"]) -> None:
        self._low, self._high = low, high

    def start(self, readings: Readings, rows: Rows) -> None:
        """Nothing to remember."""

    def targets(self, actions: Actions, readings: Readings) -> Readings:
        """The actions themselves, within the joints' limits."""
        return np.clip(actions, self._low, self._high)


class TipControl:
    """Actions are displacements of the tip in x and y [m], at constant height and with the tool as at the start."""

    def __init__(self, arm: Arm, count: int, joint_count: int, *, largest_m: float) -> None:
        self._arm, self._largest_m = arm, largest_m
        self._places = np.zeros((count, 2))
        self._q = np.zeros((count, joint_count))

    def start(self, readings: Readings, rows: Rows) -> None:
        """The tips' targets are where the tips are."""
        self._q[rows] = readings
        self._places[rows] = self._arm.tips(readings)

    def targets(self, actions: Actions, readings: Readings) -> Readings:
        """Joints that carry the tips by the actions, on a leash."""
        measured = self._arm.tips(readings)
        ahead = self._places + np.clip(actions, -self._largest_m, self._largest_m) - measured
        length = np.hypot(ahead[:, 0], ahead[:, 1])
        self._places = measured + ahead * np.minimum(1.0, LEASH_M / np.maximum(length, 1e-9))[:, None]
        self._q = self._arm.reach(self._places, self._q)
        return self._q


@dataclass(frozen=True, eq=False)
class ChainArm:
    """An arm of hinges and slides; the tool keeps the height and the turn that it has at home."""

    chain: Chain
    columns: Int[np.ndarray, " joint"]
    """The chain's joint of each measured joint."""
    home: Float[np.ndarray, " joint"]
    """Readings at home."""

    def tips(self, q: Readings) -> Places:
        """Where tips are by the robot's own kinematics [m]."""
        return np.asarray(self.chain.tip_poses(self._all(q))[:, :2, 3])

    def reach(self, places: Places, q: Readings, *, iterations: int = 4) -> Readings:
        """Joint values near `q` that put tips there."""
        goal = np.repeat(self._T_base_tip_home, len(places), axis=0)
        goal[:, :2, 3] = places
        return np.asarray(self.chain.solve(goal, self._all(q), iterations=iterations)[:, self.columns])

    @cached_property
    def _T_base_tip_home(self) -> Float[np.ndarray, "1 4 4"]:
        return self.chain.tip_poses(self._all(self.home[None]))

    def _all(self, q: Readings) -> Readings:
        """Values of all joints of the robot, those that are not measured at rest."""
        whole = np.tile(self.chain.tree.rest, (len(q), 1))
        whole[:, self.columns] = q
        return whole
