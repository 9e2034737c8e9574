"""What unit is a joint logged in? Evidence first; a guess is used only once somebody has confirmed it.

Sources of evidence: what the source declares, the robot type's usual convention, the range of the values, and
the joint limits of the robot model.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.inspection import UnitGuess
from gemel.artifacts.robot import RobotJoint
from gemel.services.formats.calibration import JointScale

_FULL_TURN = 2.0 * math.pi
_DEGREE_ROBOTS = ("so100", "so101", "so_follower")
_SPAN_ROBOTS = ("koch", "omx")
_RADIAN_ROBOTS = ("aloha", "trossen", "viperx", "widowx", "panda", "franka", "ur5", "xarm")


@dataclass(frozen=True, eq=False)
class JointRange:
    """Smallest and largest logged value of each joint, over all episodes."""

    low: Float[np.ndarray, " joint"]
    high: Float[np.ndarray, " joint"]
    motion: Float[np.ndarray, " joint"]
    """Path length of each joint, in logged units."""

    @staticmethod
    def none(joint_count: int) -> "JointRange":
        """Before any episode."""
        return JointRange(np.full(joint_count, np.inf), np.full(joint_count, -np.inf), np.zeros(joint_count))

    def with_episode(self, state: Float[np.ndarray, "t joint"]) -> "JointRange":
        """Widened by the finite values of one episode."""
        if not len(state):
            return self
        finite = np.where(np.isfinite(state), state, np.nan)
        with np.errstate(all="ignore"):
            return JointRange(
                np.fmin(self.low, np.fmin.reduce(finite, axis=0)),
                np.fmax(self.high, np.fmax.reduce(finite, axis=0)),
                self.motion + np.nansum(np.abs(np.diff(finite, axis=0)), axis=0),
            )


def guess_unit(
    name: str,
    low: float,
    high: float,
    *,
    robot_type: str,
    declared: JointScale | None,
    model_joint: RobotJoint | None,
) -> UnitGuess:
    """The most likely unit of one joint with the reasons for it."""
    if declared is not None:
        return UnitGuess(name, declared.unit, (f"the source declares {declared.unit}",), is_declared=True)
    is_gripper = "gripper" in name.lower() or "finger" in name.lower()
    evidence = [f"logged values lie in [{low:.4g}, {high:.4g}]"]
    by_value, reason = _unit_from_values(low, high, is_gripper)
    evidence.append(reason)
    by_robot = _unit_from_robot(robot_type, is_gripper)
    if by_robot:
        evidence.append(f"robots of type {robot_type!r} usually log {by_robot}")
    if by_robot and by_robot != by_value:
        evidence.append(
            f"the two disagree: taken as {by_robot}, the joint would stay in [{low:.3g}, {high:.3g}] {by_robot}"
        )
    if model_joint is not None:
        evidence.append(_limits_evidence(low, high, by_value, model_joint))
    return UnitGuess(name, by_value, tuple(evidence), is_declared=False)


def _unit_from_values(low: float, high: float, is_gripper: bool) -> tuple[str, str]:
    largest = max(abs(low), abs(high))
    if not math.isfinite(largest):
        return "rad", "no finite values"
    if is_gripper and low >= -1.0 and 1.5 < high <= 101.0:
        return "percent", "a gripper that stays within 0..100"
    if is_gripper and low >= 0.0 and high <= 0.12:
        return "m", "a gripper whose values could be an opening in metres"
    if largest <= _FULL_TURN:
        return "rad", f"nothing exceeds one turn in radians ({_FULL_TURN:.2f})"
    if largest <= 100.5 and (high > 99.0 or low < -99.0):
        return "span", "values reach but never pass ±100, as a calibrated span does"
    return "deg", f"|{largest:.4g}| exceeds one turn in radians ({_FULL_TURN:.2f})"


def _unit_from_robot(robot_type: str, is_gripper: bool) -> str:
    kind = robot_type.lower()
    if any(part in kind for part in _DEGREE_ROBOTS):
        return "percent" if is_gripper else "deg"
    if any(part in kind for part in _SPAN_ROBOTS):
        return "percent" if is_gripper else "span"
    return "rad" if any(part in kind for part in _RADIAN_ROBOTS) else ""


def _limits_evidence(low: float, high: float, unit: str, joint: RobotJoint) -> str:
    factor = {"deg": math.pi / 180.0, "mm": 1e-3}.get(unit, 1.0)
    fits = joint.low - 0.05 <= low * factor and high * factor <= joint.high + 0.05
    verdict = "fit inside" if fits else "do not fit inside"
    return f"taken as {unit} they {verdict} the model's limits [{joint.low:.3g}, {joint.high:.3g}]"


def guess_units(
    names: tuple[str, ...],
    ranges: JointRange,
    *,
    robot_type: str,
    declared: Mapping[str, JointScale],
    model_joints: Mapping[str, RobotJoint],
) -> tuple[UnitGuess, ...]:
    """Guesses for all joints."""
    return tuple(
        guess_unit(
            name,
            float(ranges.low[i]),
            float(ranges.high[i]),
            robot_type=robot_type,
            declared=declared.get(name),
            model_joint=model_joints.get(name),
        )
        for i, name in enumerate(names)
    )
