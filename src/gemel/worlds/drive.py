"""What lies between a joint command and the joint: lag, saturation and backlash.

A command is a straight line to a target over one control period. The drive follows it late (`actuator_lag_s`), no
faster than `speed_limit_rad_s`, and the link follows the motor with play (`backlash_rad`). The encoder sits on the
motor, so it does not see the play. Hysteresis model of play: Nordin and Gutman (2002), section 2.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.worlds.imperfections import Imperfections

Joints = Float[np.ndarray, "*world joint"]
"""Of one machine, or of many alike."""


@dataclass
class Drive:
    """The state of all drives of a machine."""

    imperfections: Imperfections
    is_gripper: np.ndarray
    times_s: list[float]
    targets: list[Joints]
    motor: Joints
    link: Joints

    @staticmethod
    def at_rest(imperfections: Imperfections, is_gripper: np.ndarray, q: Joints) -> "Drive":
        """All drives holding `q` [rad or m] since ever."""
        return Drive(imperfections, is_gripper, [-1e3], [q.copy()], q.copy(), q.copy())

    def command(self, target: Joints, start_s: float, end_s: float) -> None:
        """Move from the last target to this one between the two times."""
        if start_s > self.times_s[-1]:
            self.times_s.append(start_s)
            self.targets.append(self.targets[-1])
        self.times_s.append(end_s)
        self.targets.append(target.copy())

    def advance(self, time_s: float, step_s: float) -> tuple[Joints, Joints]:
        """Position and velocity that the servo asks of the links after one physics step."""
        wanted = self._reference(time_s - self.imperfections.actuator_lag_s)
        limit = np.where(self.is_gripper, 0.2, self.imperfections.speed_limit_rad_s) * step_s
        self.motor = self.motor + np.clip(wanted - self.motor, -limit, limit)
        half = np.where(self.is_gripper, 0.0, 0.5 * self.imperfections.backlash_rad)
        before = self.link
        self.link = np.clip(before, self.motor - half, self.motor + half)
        return self.link, (self.link - before) / step_s

    @property
    def play(self) -> Joints:
        """How far the motor is ahead of the link [rad]."""
        return self.motor - self.link

    def _reference(self, time_s: float) -> Joints:
        times = self.times_s
        i = len(times) - 1
        while i > 0 and times[i - 1] >= time_s:
            i -= 1
        if i == 0 or time_s >= times[-1]:
            return self.targets[0] if i == 0 else self.targets[-1]
        part = (time_s - times[i - 1]) / (times[i] - times[i - 1])
        return (1.0 - part) * self.targets[i - 1] + part * self.targets[i]
