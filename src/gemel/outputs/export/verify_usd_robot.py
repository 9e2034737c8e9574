"""Links and joints of a stage against the compiled model: what a simulator would make of them, in SI units again."""

import math
from typing import Any

import numpy as np

from gemel.geometry import SE3, SO3
from gemel.outputs.export.felt_servo import felt_servo
from gemel.outputs.export.links import LinkJoint, Shape
from gemel.outputs.export.report import Check, largest
from gemel.outputs.export.scene import ExportScene
from gemel.outputs.export.usd_prims import WEIGHTLESS, link_path
from gemel.outputs.export.usd_robot import MIMIC_AXIS, angle_unit, axis_name, is_followed, joint_path

_SINGLE_PRECISION = 1e-6
"""Relative difference that float32, in which UsdPhysics keeps numbers, may leave."""
_JOINT_EQUALITY = 2
"""Code of mujoco.mjtEq."""


def robot_checks(scene: ExportScene, stage: Any) -> tuple[Check, ...]:
    """Limits, drives, frames, what PhysX is told besides, shapes and the articulation."""
    joints = [link.joint for link in scene.links if link.joint is not None and link.joint.kind != "free"]
    model, single = scene.model, _SINGLE_PRECISION
    shapes = [
        (f"{link_path(link.name)}/shape{i}", shape) for link in scene.links for i, shape in enumerate(link.shapes)
    ]
    return (
        Check("joint limits", largest(_limit_part(stage, model, j) for j in joints), single, "(part)"),
        Check("drives", largest(_drive_part(stage, model, j) for j in joints), single, "(part)"),
        Check("joint friction, rotors and followers", largest(_physx_part(scene, stage, j) for j in joints), single,
              "(part)"),
        Check("joint frames", largest(_joint_gap(stage, j) for j in joints), 1e-6, "m, rad"),
        Check("link shapes", largest(_shape_difference(stage, path, shape) for path, shape in shapes), 1e-6, "m"),
        Check("links that weigh or float and should not", float(_wrong_weights(scene, stage)), 0.0),
        Check("articulations missing", float(_missing_articulation(scene, stage)), 0.0),
    )  # fmt: skip


def world_matrix(stage: Any, path: Any) -> np.ndarray:
    """Where a prim is in the world, (4, 4)."""
    from pxr import Usd, UsdGeom

    prim = UsdGeom.Xformable(stage.GetPrimAtPath(path))
    return np.array(prim.ComputeLocalToWorldTransform(Usd.TimeCode.Default())).T


def _part(ours: float, theirs: float) -> float:
    """Relative difference; equal infinities are equal."""
    if math.isinf(ours) or math.isinf(theirs):
        return 0.0 if ours == theirs else math.inf
    return abs(theirs - ours) / abs(ours) if ours else abs(theirs)


def _limit_part(stage: Any, model: Any, joint: LinkJoint) -> float:
    """Relative difference of a joint's limits from the model's."""
    from pxr import UsdPhysics

    prim, j = stage.GetPrimAtPath(joint_path(joint.name)), int(model.joint(joint.name).id)
    schema = UsdPhysics.RevoluteJoint(prim) if joint.kind == "hinge" else UsdPhysics.PrismaticJoint(prim)
    unit = angle_unit(joint)
    found = [unit * attribute.Get() for attribute in (schema.GetLowerLimitAttr(), schema.GetUpperLimitAttr())]
    wanted = model.jnt_range[j].tolist() if model.jnt_limited[j] else [-math.inf, math.inf]
    return largest(_part(ours, theirs) for ours, theirs in zip(wanted, found, strict=True))


def _drive_part(stage: Any, model: Any, joint: LinkJoint) -> float:
    """Relative difference of a joint's drive from what the joint feels in the model, viscous friction included."""
    from pxr import UsdPhysics

    prim, unit = stage.GetPrimAtPath(joint_path(joint.name)), angle_unit(joint)
    felt, j = felt_servo(model, joint.name), int(model.joint(joint.name).id)
    damping = felt.damping + (float(model.dof_damping[model.jnt_dofadr[j]]) if joint.follows is None else 0.0)
    if not prim.HasAPI(UsdPhysics.DriveAPI, axis_name(joint)):
        return 0.0 if felt.gain == damping == 0.0 else math.inf
    drive = UsdPhysics.DriveAPI.Get(prim, axis_name(joint))
    rest = float(model.qpos0[model.jnt_qposadr[j]])
    pairs = [
        (felt.effort, float(drive.GetMaxForceAttr().Get())),
        (felt.gain, drive.GetStiffnessAttr().Get() / unit),
        (damping, drive.GetDampingAttr().Get() / unit),
        (rest, drive.GetTargetPositionAttr().Get() * unit),
    ]
    return largest(_part(ours, theirs) for ours, theirs in pairs)


def _physx_part(scene: ExportScene, stage: Any, joint: LinkJoint) -> float:
    """Relative difference of rotor inertia, dry friction and coupling from the model's."""
    model, prim = scene.model, stage.GetPrimAtPath(joint_path(joint.name))
    dof = int(model.joint(joint.name).dofadr[0])
    friction, start = float(model.dof_frictionloss[dof]), f"physxJointAxis:{axis_name(joint)}"
    wanted = {
        "physxJoint:armature": float(model.dof_armature[dof]), f"{start}:armature": float(model.dof_armature[dof]),
        f"{start}:staticFrictionEffort": friction, f"{start}:dynamicFrictionEffort": friction,
    }  # fmt: skip
    if joint.follows is not None:
        wanted[f"{start}:viscousFrictionCoefficient"] = float(model.dof_damping[dof]) * angle_unit(joint)
        joints = {link.joint.name: link.joint for link in scene.links if link.joint is not None}
        if is_followed(joint, joints):
            wanted |= _coupling(model, joint)
    found = {name: prim.GetAttribute(name).Get() for name in wanted}
    return largest(math.inf if (v := found[name]) is None else _part(ours, v) for name, ours in wanted.items())


def _coupling(model: Any, joint: LinkJoint) -> dict[str, float]:
    """Gearing and offset of PhysX's position + gearing · leader + offset = 0, from the model's own equation."""
    j, q0 = int(model.joint(joint.name).id), model.qpos0
    e = next(i for i in range(model.neq) if model.eq_type[i] == _JOINT_EQUALITY and model.eq_obj1id[i] == j)
    leader = int(model.eq_obj2id[e])
    offset, factor = (float(value) for value in model.eq_data[e, :2])
    rest, leader_rest = (float(q0[model.jnt_qposadr[i]]) for i in (j, leader))
    start = f"physxMimicJoint:{MIMIC_AXIS}"
    at_zero = rest + offset - factor * leader_rest
    return {f"{start}:gearing": -factor, f"{start}:offset": -at_zero / angle_unit(joint)}


def _joint_gap(stage: Any, joint: LinkJoint) -> float:
    """How far the two frames of a joint are apart when it reads what it reads at the start."""
    from pxr import UsdPhysics

    prim = UsdPhysics.Joint(stage.GetPrimAtPath(joint_path(joint.name)))
    if not prim.GetJointEnabledAttr().Get():
        return math.inf
    frames = []
    for bodies, position, rotation in (
        (prim.GetBody0Rel(), prim.GetLocalPos0Attr(), prim.GetLocalRot0Attr()),
        (prim.GetBody1Rel(), prim.GetLocalPos1Attr(), prim.GetLocalRot1Attr()),
    ):
        world = np.eye(4)
        for target in bodies.GetTargets():
            world = world_matrix(stage, target)
        turn = rotation.Get()
        wxyz = np.array([turn.GetReal(), *turn.GetImaginary()], dtype=np.float64)
        frames.append(SE3.from_matrix(world) @ SE3(SO3(wxyz), np.array(position.Get(), dtype=np.float64)))
    axis = {"X": 0, "Y": 1, "Z": 2}[prim.GetPrim().GetAttribute("physics:axis").Get()]
    along = joint.rest * np.eye(3)[axis]
    is_hinge = joint.kind == "hinge"
    motion = SE3(SO3.exp(along), np.zeros(3)) if is_hinge else SE3(SO3.identity(), along)
    return largest((frames[0] @ motion).as_matrix() - frames[1].as_matrix())


def _shape_difference(stage: Any, path: str, shape: Shape) -> float:
    """Of the sizes of a link's shape: those that MuJoCo has, or corners of a mesh [m]."""
    from pxr import UsdGeom

    prim = stage.GetPrimAtPath(path)
    stretch = np.linalg.norm(world_matrix(stage, path)[:3, :3], axis=0)
    if shape.kind == "mesh":
        points = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(), dtype=np.float64)
        wanted = shape.mesh[0]
        return largest(points * stretch - wanted) if points.shape == wanted.shape else math.inf
    if shape.kind == "box":
        return largest(0.5 * UsdGeom.Cube(prim).GetSizeAttr().Get() * stretch - shape.size)
    schema = {"sphere": UsdGeom.Sphere, "cylinder": UsdGeom.Cylinder, "capsule": UsdGeom.Capsule}[shape.kind](prim)
    apart = [schema.GetRadiusAttr().Get() * stretch[0] - shape.size[0]]
    if shape.kind != "sphere":
        apart.append(0.5 * schema.GetHeightAttr().Get() * stretch[2] - shape.size[1])
    return largest(apart)


def _wrong_weights(scene: ExportScene, stage: Any) -> int:
    """Links whose weight counts on one side only."""
    count = 0
    for link in scene.links:
        body = scene.model.body(link.name).id
        attribute = stage.GetPrimAtPath(link_path(link.name)).GetAttribute(WEIGHTLESS)
        is_floating = bool(attribute.Get()) if attribute else False
        count += is_floating != bool(scene.model.body_gravcomp[body] == 1.0)
    return count


def _missing_articulation(scene: ExportScene, stage: Any) -> int:
    from pxr import UsdPhysics

    prim = stage.GetPrimAtPath("/World/Robot")
    return int(bool(scene.links) and not (prim and prim.HasAPI(UsdPhysics.ArticulationRootAPI)))
