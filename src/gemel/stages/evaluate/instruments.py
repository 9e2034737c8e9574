"""What the robot is measured with; made, and its settings checked, before the holdout is opened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gemel.artifacts.blob import Blobs
from gemel.artifacts.capture import JointSignal
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, choices_text
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.kinematics.arms import find_arms
from gemel.services.kinematics.tree import kinematic_tree
from gemel.services.sim.commanded import ActionReader, action_reader
from gemel.stages.evaluate.config import EvaluateConfig
from gemel.stages.evaluate.joint_error import JointMeasure, joint_measures
from gemel.stages.evaluate.tool_error import Tool, make_tool


@dataclass(frozen=True, eq=False)
class Instruments:
    """The robot as it is measured, and how its actions are read; without a robot there is nothing to measure."""

    reader: ActionReader
    measures: tuple[JointMeasure, ...] = ()
    tools: tuple[Tool, ...] = ()


def make_instruments(
    twin: Twin,
    config: EvaluateConfig,
    *,
    joints: Sequence[JointSignal],
    action_names: Sequence[str],
    action_units: Sequence[str],
    blobs: Blobs,
) -> Instruments:
    """Of a twin whose logged joints and actions have these names; names in settings that mean nothing are refused."""
    reader = action_reader(
        twin.robot, blobs, names=action_names, units=action_units, joints=joints, model_joints=twin.joints,
        given=config.actions, arms=config.arms,
    )  # fmt: skip
    if twin.robot is None or not any(twin.joints):
        _check_names(config, ())
        return Instruments(reader)
    model = compile_stored_robot(twin.robot, blobs)
    arms = find_arms(kinematic_tree(model), twin.joints, joints, config.arms)
    _check_names(config, [joints[column].name for arm in arms for column in arm.columns])
    measures = joint_measures(arms, joints, twin.robot, config.weights, config.scales)
    return Instruments(reader, measures, tuple(make_tool(model, arm, twin) for arm in arms))


def _check_names(config: EvaluateConfig, compared: Sequence[str]) -> None:
    """Weights and scales of joints that are not compared would be without effect, and nobody would know."""
    given: dict[str, Mapping[str, float]] = {"weights": config.weights, "scales": config.scales}
    for table, values in given.items():
        for name in values:
            if name not in compared:
                raise ConfigError(
                    f"[evaluate.{table}] {choices_text(name, tuple(compared))}",
                    remedy="name logged joints that are compared: those of the robot model, and of [evaluate.arms]",
                )
