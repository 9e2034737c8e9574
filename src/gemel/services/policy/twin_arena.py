"""The arena of a twin: its scene compiled, its robot's nominal kinematics, its object in the task's frame."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.task import Task
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.kinematics.chain import Chain
from gemel.services.policy.arena import Arena
from gemel.services.policy.control import ChainArm
from gemel.services.policy.site import Site
from gemel.services.policy.task_frame import task_frame
from gemel.services.policy.twin_task import task_of
from gemel.services.sim.compile import CompileConfig, compile_twin
from gemel.services.sim.led_servos import feed_forward
from gemel.services.sim.slots import controls
from gemel.services.tasks import get_object, object_names


def twin_arena(
    twin: Twin, blobs: Blobs, *, task: Task | None = None, home: Float[np.ndarray, " joint"] | None = None,
    has_force_sensors: bool = False,
) -> Arena:  # fmt: skip
    """The twin's own task (`task_of`) or another one; `home` are readings where the robot waits, by default at rest."""
    if twin.robot is None or not any(twin.joints):
        raise ConfigError("The twin has no robot that could act.", remedy="give the robot model under [robot]")
    task = task or task_of(twin)
    name = _object(twin, task)
    scene = compile_twin(replace(twin, task=task), blobs, config=CompileConfig(has_force_sensors=has_force_sensors))
    columns = [column for column, joint in enumerate(twin.joints) if joint]
    joints = tuple(twin.joints[column] for column in columns)
    control_of = {control.label: control.index for control in controls(scene.model)}
    missing = [joint for joint in joints if joint not in control_of]
    if missing:
        raise ConfigError(
            f"Nothing drives {', '.join(missing)}.", remedy="add position actuators to the robot model, or remove all"
        )
    nominal = compile_stored_robot(twin.robot, blobs)
    rest = np.array([float(nominal.qpos0[nominal.joint(joint).qposadr[0]]) for joint in joints])
    start = rest if home is None else np.asarray(home, dtype=np.float64)[columns]
    mesh = twin.reconstruction.objects.get(name)
    known = name in object_names() and mesh is not None
    return Arena(
        model=scene.model,
        task=task,
        object=name,
        joint_names=joints,
        readings_at=np.array([int(scene.model.joint(joint).qposadr[0]) for joint in joints]),
        commands_at=np.array([control_of[joint] for joint in joints]),
        home=start,
        T_world_rest=twin.initial_poses[name],
        place=lambda readings, poses: scene.qpos(_all_columns(readings, columns, len(twin.joints)), {name: poses}),
        arm=_arm(nominal, joints, start) if _has_tip(task) else None,
        T_object_task=task_frame(mesh, get_object(name)) if known and mesh is not None else SE3.identity(),
        belief=twin.belief,
        fixed=feed_forward(scene.model, frozenset(twin.belief.names)),  # as the servos of real arms have
        site=Site(twin.table_height_m, _bases_xy(scene.model, joints)),
    )


def _object(twin: Twin, task: Task) -> str:
    """What the task handles, as far as the twin has it."""
    name = next((name for name in task.objects if name in twin.colliders), "")
    if not name and len(twin.colliders) == 1:
        (only,) = twin.colliders
        if not task.objects or only not in object_names():  # what nobody has named may be what the task handles
            return only
    if not name:
        raise ConfigError(
            f"Task {task.name!r} handles {list(task.objects)}; the twin's objects are {sorted(twin.colliders)}.",
            remedy="give a task that handles one of them",
        )
    return name


def _bases_xy(model: Any, joints: Sequence[str]) -> Float[np.ndarray, "base 2"]:
    """Where the root links that carry the joints stand in the scene [m]."""
    roots = {int(model.body_rootid[model.jnt_bodyid[model.joint(joint).id]]) for joint in joints}
    return np.array([model.body_pos[root, :2] for root in sorted(roots)])


def _has_tip(task: Task) -> bool:
    names = [quantity.name for quantity in (*task.action, *task.observation)]
    return any(name.startswith(("tip_", "tip/")) for name in names)


def _arm(nominal: Any, joints: tuple[str, ...], home: np.ndarray) -> ChainArm:
    chain = Chain.to_tip(nominal)
    return ChainArm(chain, np.array([chain.tree.joint(joint) for joint in joints]), home)


def _all_columns(readings: np.ndarray, columns: list[int], count: int) -> np.ndarray:
    whole = np.zeros((len(readings), count))
    whole[:, columns] = readings
    return whole
