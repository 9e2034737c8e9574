"""The robot of a twin as an editable MuJoCo description: at its calibrated place, with calibrated joints and servos.

Joint values in the scene are readings of the log: a joint whose encoder is off by an offset is turned by it in the
model, so that nobody has to add offsets to logged positions or commands before simulating.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.robot import RobotModel
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.services.formats.robot_model import stored_robot_spec

_SERVO_RAD_S = 30.0
"""Bandwidth of servos that are added to a model without any; critically damped for the inertia at rest."""


def calibrated_robot(
    robot: RobotModel,
    blobs: Blobs,
    *,
    Ts_world_base: SE3,
    joints: Sequence[str],
    offsets: Float[np.ndarray, " joint"],
) -> Any:
    """The robot as a `mujoco.MjSpec`.

    `joints` names the model's joint of each offset, empty where a logged joint is none of the model's.
    """
    spec = stored_robot_spec(robot, blobs)
    _check_joints(robot, joints, len(offsets))
    as_filed = spec.copy().compile()  # compiling fuses still links away
    if Ts_world_base.batch_shape[0]:
        _place_roots(spec, as_filed, Ts_world_base)
    for name, offset in zip(joints, offsets, strict=True):
        if name and offset:
            _turn_zero(spec, name, float(offset))
    for key in list(spec.keys):  # their joint values are those of the uncorrected model
        spec.delete(key)
    if as_filed.nu == 0:
        _add_servos(spec, as_filed)
    return spec


def _check_joints(robot: RobotModel, joints: Sequence[str], offset_count: int) -> None:
    if len(joints) != offset_count:
        raise ConfigError(
            f"The twin has {len(joints)} logged joints; its reconstruction has offsets of {offset_count}.",
            remedy="reconstruct again with the capture that the joints are from: `gemel run DIR --from reconstruct`",
        )
    missing = [name for name in joints if name and name not in robot.joint_names]
    if missing:
        raise ConfigError(
            f"The twin's joints {missing} are not in the robot model {robot.name!r}, which has {robot.joint_names}.",
            remedy="give the robot model that the log was recorded with, and run `gemel run DIR --from ingest`",
        )


def _place_roots(spec: Any, model: Any, Ts_world_base: SE3) -> None:
    roots = [i for i in range(1, model.nbody) if model.body_parentid[i] == 0]
    if len(roots) != Ts_world_base.batch_shape[0]:
        raise ConfigError(
            f"The reconstruction has {Ts_world_base.batch_shape[0]} base poses; the robot model has {len(roots)} root "
            "links.",
            remedy="run the reconstruct stage again with this robot model",
        )
    bodies = [spec.body(model.body(root).name) for root in roots]
    carriers = [_carrier(spec, body) for body in bodies]
    for row, (body, carrier) in enumerate(zip(bodies, carriers, strict=True)):
        is_alone = [other.name for other in carriers].count(carrier.name) == 1
        # What a root hangs on comes along, unless it carries two roots that were calibrated apart.
        moved = carrier if is_alone else body
        T_moved_root = (_still_pose(spec, moved) @ _own_pose(spec, moved)).inverse() @ (
            _still_pose(spec, body) @ _own_pose(spec, body)
        )
        T_parent_moved = _still_pose(spec, moved).inverse() @ Ts_world_base[row] @ T_moved_root.inverse()
        _clear_other_orientation(moved)
        moved.pos, moved.quat = T_parent_moved.translation, T_parent_moved.rotation.wxyz


def _carrier(spec: Any, body: Any) -> Any:
    """The body that a root link hangs on, directly in the world: itself, or a still link that the compiler fuses."""
    while body.parent is not None and body.parent.name != spec.worldbody.name:
        body = body.parent
    return body


def _still_pose(spec: Any, body: Any) -> SE3:
    """Pose of what a root link hangs on, from the description alone: still links and frames that the compiler fuses."""
    pose = _frames(spec, body)
    body = body.parent
    while body is not None and body.name != spec.worldbody.name:
        pose = _frames(spec, body) @ _own_pose(spec, body) @ pose
        body = body.parent
    return pose


def _frames(spec: Any, body: Any) -> SE3:
    """Pose of the frames that a body is written in, in its parent."""
    pose, frame = SE3.identity(), body.frame
    while frame is not None:
        pose, frame = _own_pose(spec, frame) @ pose, frame.frame
    return pose


def _own_pose(spec: Any, element: Any) -> SE3:
    import mujoco

    quat = np.array(element.quat)
    if element.alt.type != mujoco.mjtOrientation.mjORIENTATION_QUAT:
        quat = np.array(
            spec.resolve_orientation(
                degree=spec.compiler.degree, sequence=spec.compiler.eulerseq, orientation=element.alt
            )
        )
    return SE3(SO3(quat), np.array(element.pos))


def _clear_other_orientation(body: Any) -> None:
    """Angles and axes win over the quaternion where a file gives them."""
    import mujoco

    body.alt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT


def _turn_zero(spec: Any, name: str, offset: float) -> None:
    """Make reading r of a joint mean r + offset of the model as filed."""
    import mujoco

    joint = spec.joint(name)
    is_hinge = joint.type == mujoco.mjtJoint.mjJNT_HINGE
    in_file = math.degrees(offset) if is_hinge and spec.compiler.degree else offset
    joint.ref -= in_file
    joint.springref -= in_file
    joint.range = np.array(joint.range) - in_file
    for actuator in spec.actuators:
        is_servo = actuator.biastype == mujoco.mjtBias.mjBIAS_AFFINE
        if is_servo and actuator.target == name and np.any(actuator.ctrlrange):
            actuator.ctrlrange = np.array(actuator.ctrlrange) - offset * actuator.gear[0]


def _add_servos(spec: Any, model: Any) -> None:
    """Position servos for a model that has no actuators, and no weight for them to carry.

    Real arms hold their own weight by feed-forward; a plain servo without it would sag.
    """
    import mujoco

    followers = {
        int(model.eq_obj1id[e])
        for e in range(model.neq)
        if model.eq_type[e] == int(mujoco.mjtEq.mjEQ_JOINT) and model.eq_obj2id[e] >= 0
    }
    movable = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    for j in range(model.njnt):
        if model.jnt_type[j] in movable and j not in followers:
            name, inertia = model.joint(j).name, float(model.dof_M0[model.jnt_dofadr[j]])
            servo = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            servo.set_to_position(kp=inertia * _SERVO_RAD_S**2, kv=2.0 * inertia * _SERVO_RAD_S)
    for body in spec.bodies:
        body.gravcomp = 1.0
