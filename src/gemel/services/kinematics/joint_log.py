"""Joint readings over one episode as a curve, with which flank of its play each joint rests on."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.capture import JointSignal
from gemel.services.kinematics.tree import KinematicTree

_TYPICAL_PLAY_RAD = 0.001


@dataclass(frozen=True, eq=False)
class JointLog:
    """Joint readings over one episode, as a curve."""

    times_s: Float[np.ndarray, " t"]
    q: Float[np.ndarray, "t joint"]
    """In the order of the tree's joints [rad or m]; joints that are not logged stay at rest."""

    @cached_property
    def _curve(self) -> Any:
        from scipy.interpolate import CubicSpline

        return CubicSpline(self.times_s, self.q, axis=0)

    @cached_property
    def side(self) -> Float[np.ndarray, "t joint"]:
        """Which flank of its play each joint rests on, -1 to 1: the play operator with a typical width."""
        trailing, sides = self.q[0].copy(), np.zeros_like(self.q)
        for t in range(1, len(self.q)):
            trailing = np.clip(trailing, self.q[t] - _TYPICAL_PLAY_RAD, self.q[t] + _TYPICAL_PLAY_RAD)
            sides[t] = (self.q[t] - trailing) / _TYPICAL_PLAY_RAD
        return sides

    def side_at(self, times_s: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n joint"]:
        """The flanks at any times."""
        return np.stack([np.interp(times_s, self.times_s, column) for column in self.side.T], axis=-1)

    def at(self, times_s: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n joint"]:
        """Readings at any times; held constant before the first and after the last."""
        return np.asarray(self._curve(np.clip(times_s, self.times_s[0], self.times_s[-1])))


def joint_log(
    tree: KinematicTree,
    joints: tuple[JointSignal, ...],
    times_s: Float[np.ndarray, " t"],
    positions: Float[np.ndarray, "t joint"],
) -> JointLog:
    """What a capture logged, in the order of the tree's joints."""
    q = np.tile(tree.rest, (len(times_s), 1))
    for column, signal in enumerate(joints):
        if signal.model_joint:
            q[:, tree.joint(signal.model_joint)] = positions[:, column]
    return JointLog(times_s, q)
