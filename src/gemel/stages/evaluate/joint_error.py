"""How far simulated joints are from logged ones, as one number per arm: weighted, in parts of each joint's scale.

After the cross-domain protocol of the Real2Sim digital twin pipeline: MSE(t) = sum_i w_i (q_i^sim - q_i^real)² / Δq_i²,
the gripper with a weight and a scale of its own, RMSE = sqrt(MSE), and overall the mean of the arms' MSE. There the
weights and scales are left open; here weights sum to one over an arm, so that the sum is a mean, a scale is the
joint's range in the robot model, and both are part of the evidence.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.capture import JointSignal
from gemel.artifacts.robot import RobotModel
from gemel.services.kinematics.arms import ALL, Arm

_UNLIMITED = {"hinge": 2.0 * math.pi, "slide": 1.0}
"""Range of a joint without limits [rad or m]."""


@dataclass(frozen=True, eq=False)
class JointMeasure:
    """Weights and scales of the joints of one arm."""

    arm: Arm
    weights: Float[np.ndarray, " joint"]
    """Of the arm's columns; they sum to one."""
    scales: Float[np.ndarray, " joint"]

    def squared(
        self, simulated: Float[np.ndarray, "*batch logged"], logged: Float[np.ndarray, "*batch2 logged"]
    ) -> Float[np.ndarray, "*out"]:
        """MSE(t) of this arm."""
        columns = list(self.arm.columns)
        apart = (simulated[..., columns] - logged[..., columns]) / self.scales
        return np.asarray(apart**2 @ self.weights)


def joint_measures(
    arms: Sequence[Arm],
    joints: Sequence[JointSignal],
    robot: RobotModel,
    weights: Mapping[str, float],
    scales: Mapping[str, float],
) -> tuple[JointMeasure, ...]:
    """One for each arm; `weights` and `scales` are by logged joint, where they are not the default."""
    model = {joint.name: joint for joint in robot.joints}

    def scale(column: int) -> float:
        joint = model[joints[column].model_joint]
        span = joint.high - joint.low
        return scales.get(joints[column].name, span if math.isfinite(span) and span > 0.0 else _UNLIMITED[joint.kind])

    measures = []
    for arm in arms:
        raw = np.array([weights.get(joints[column].name, 1.0) for column in arm.columns])
        measures.append(JointMeasure(arm, raw / raw.sum(), np.array([scale(column) for column in arm.columns])))
    return tuple(measures)


def joint_errors(
    measures: Sequence[JointMeasure],
    simulated: Float[np.ndarray, "*batch logged"],
    logged: Float[np.ndarray, "*batch2 logged"],
) -> dict[str, Float[np.ndarray, "*out"]]:
    """RMSE(t) by arm, and of all arms together under `all`."""
    squared = {measure.arm.name: measure.squared(simulated, logged) for measure in measures}
    overall = np.mean(list(squared.values()), axis=0)
    return {name: np.sqrt(value) for name, value in {**squared, ALL: overall}.items()}
