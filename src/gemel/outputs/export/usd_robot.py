"""The robot on a stage: links as rigid bodies, joints with limits and drives, one articulation.

A joint of UsdPhysics turns about one axis of a frame that is given on both bodies. The frame's x axis is laid along the
joint's axis; on the parent it stands where the joint reads zero, so that limits and targets are the log's readings.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gemel.geometry import SE3, SO3
from gemel.outputs.export.links import Link, LinkJoint, Servo, Shape
from gemel.outputs.export.scene import ExportScene, contact_parts
from gemel.outputs.export.usd_prims import (
    add_body,
    add_convex_collider,
    add_material,
    add_mesh,
    add_splat,
    bind_material,
    link_path,
    place,
    prim_name,
)
from gemel.services.render.bound_gaussians import gaussians_of
from gemel.services.sim.contacts import TABLE

MATERIAL = "robot"
MIMIC_AXIS = "rotX"
"""PhysX's name of the axis that a joint moves about or along."""
_FRICTION = 0.5
"""Of robots that touch nothing."""


def joint_path(name: str) -> str:
    """Where a joint is on the stage."""
    return f"/World/Robot/Joints/{prim_name(name)}"


def add_robot(stage: Any, scene: ExportScene) -> None:
    """All links and joints."""
    from pxr import Sdf, UsdGeom, UsdPhysics

    root = UsdGeom.Xform.Define(stage, "/World/Robot").GetPrim()
    UsdPhysics.ArticulationRootAPI.Apply(root)
    root.AddAppliedSchema("PhysxArticulationAPI")  # links that overlap at their joints would push each other apart
    own = "physxArticulation:enabledSelfCollisions"
    root.CreateAttribute(own, Sdf.ValueTypeNames.Bool, custom=False).Set(False)
    add_material(stage, MATERIAL, _friction(scene))
    for link in scene.links:
        path = link_path(link.name)
        is_weightless = link.held_up == 1.0
        add_body(
            stage, path, link.name, scene.T_world_link(link.name), link.inertia, is_weightless=is_weightless
        )  # fmt: skip
        for number, shape in enumerate(link.shapes):
            _add_shape(stage, f"{path}/shape{number}", shape)
        looks = scene.twin.reconstruction.links.get(link.name)
        if looks is not None:
            add_splat(stage, f"{path}/splat", gaussians_of(looks))
    for link in scene.links:
        _add_joint(stage, link)
    joints = {link.joint.name: link.joint for link in scene.links if link.joint is not None}
    for joint in joints.values():
        if joint.follows is not None:
            _add_follower(stage, joint, joints)


def left_out_of_robot(scene: ExportScene) -> list[str]:
    """What links and joints have and a stage cannot carry, in words."""
    partly = [link.name for link in scene.links if link.held_up not in (0.0, 1.0)]
    joints = {link.joint.name: link.joint for link in scene.links if link.joint is not None}
    odd = [name for name, joint in joints.items() if joint.follows is not None and not is_followed(joint, joints)]
    words = [f"weight that is compensated in part: {', '.join(partly)}"] if partly else []
    words += [f"hinges that follow slides or slides that follow hinges: {', '.join(odd)}"] if odd else []
    if any(joint.friction or joint.armature for joint in joints.values()):
        words.append("dry friction and rotor inertia of joints outside PhysX 5.6 or newer (Isaac Sim 5)")
    return words


def axis_name(joint: LinkJoint) -> str:
    """What UsdPhysics and PhysX call the way that a joint moves."""
    return "angular" if joint.kind == "hinge" else "linear"


def is_followed(joint: LinkJoint, joints: Mapping[str, LinkJoint]) -> bool:
    """Whether a joint follows one of its own kind, as PhysX's mimic joints do."""
    leader = joints.get(joint.follows.leader) if joint.follows is not None else None
    return leader is not None and leader.kind == joint.kind


def joint_frame(joint: LinkJoint) -> SE3:
    """`T_link_frame`: x along the joint's axis, at its anchor."""
    return SE3(_x_towards(joint.axis), joint.anchor)


def zero_pose(joint: LinkJoint) -> SE3:
    """How the link stands at reading zero, from its rest pose; for an axis through the anchor."""
    back = -joint.rest * joint.axis
    if joint.kind == "slide":
        return SE3(SO3.identity(), back)
    turn = SO3.exp(back)
    return SE3(turn, joint.anchor - turn @ joint.anchor)


def _add_joint(stage: Any, link: Link) -> None:
    from pxr import UsdPhysics

    joint = link.joint
    if joint is not None and joint.kind == "free":
        return  # a free body has no joint on a stage
    if joint is None:
        name, T_link_frame, T_parent_frame = f"{link.name}_fixed", SE3.identity(), link.T_parent_link
        prim = UsdPhysics.FixedJoint.Define(stage, joint_path(name))
    else:
        T_link_frame = joint_frame(joint)
        T_parent_frame = link.T_parent_link @ zero_pose(joint) @ T_link_frame
        kind = UsdPhysics.RevoluteJoint if joint.kind == "hinge" else UsdPhysics.PrismaticJoint
        prim = kind.Define(stage, joint_path(joint.name))
        prim.CreateAxisAttr("X")
        _add_limits_and_drive(prim, joint)
    if link.parent:
        prim.CreateBody0Rel().SetTargets([link_path(link.parent)])
    prim.CreateBody1Rel().SetTargets([link_path(link.name)])
    _set_frames(prim, T_parent_frame, T_link_frame)


def _set_frames(prim: Any, T_body0_frame: SE3, T_body1_frame: SE3) -> None:
    from pxr import Gf

    prim.CreateLocalPos0Attr(Gf.Vec3f(*T_body0_frame.translation.tolist()))
    prim.CreateLocalRot0Attr(Gf.Quatf(*T_body0_frame.rotation.wxyz.tolist()))
    prim.CreateLocalPos1Attr(Gf.Vec3f(*T_body1_frame.translation.tolist()))
    prim.CreateLocalRot1Attr(Gf.Quatf(*T_body1_frame.rotation.wxyz.tolist()))


def _add_limits_and_drive(prim: Any, joint: LinkJoint) -> None:
    """Angles in degrees, gains per degree."""
    from pxr import UsdPhysics

    unit = angle_unit(joint)
    if math.isfinite(joint.high):
        prim.CreateLowerLimitAttr(joint.low / unit)
        prim.CreateUpperLimitAttr(joint.high / unit)
    if joint.servo is not None or (joint.damping and joint.follows is None):
        servo = joint.servo or Servo(0.0, 0.0, math.inf)
        drive = UsdPhysics.DriveAPI.Apply(prim.GetPrim(), axis_name(joint))
        drive.CreateTypeAttr("force")
        drive.CreateStiffnessAttr(servo.gain * unit)
        drive.CreateDampingAttr((servo.damping + (joint.damping if joint.follows is None else 0.0)) * unit)
        drive.CreateTargetPositionAttr(joint.rest / unit)
        if math.isfinite(servo.effort):
            drive.CreateMaxForceAttr(servo.effort)
    prim.GetPrim().SetCustomDataByKey("gemel:name", joint.name)
    _add_physx_joint(prim.GetPrim(), joint)


def angle_unit(joint: LinkJoint) -> float:
    """UsdPhysics has angles in degrees [rad]; lengths are metres [m]."""
    return math.pi / 180.0 if joint.kind == "hinge" else 1.0


def physx_values(joint: LinkJoint) -> dict[str, float]:
    """What PhysX keeps of a joint beside its drive: rotor inertia and dry friction, in SI units.

    A follower may have no drive, so that its viscous friction is here too [per degree for a hinge].
    """
    values = {
        "armature": joint.armature,
        "staticFrictionEffort": joint.friction,
        "dynamicFrictionEffort": joint.friction,
    }
    if joint.follows is not None:
        values["viscousFrictionCoefficient"] = joint.damping * angle_unit(joint)
    return values


def _add_physx_joint(prim: Any, joint: LinkJoint) -> None:
    """Armature also in its older place: PhysxJointAPI has it, PhysxJointAxisAPI wins where it is known."""
    from pxr import Sdf

    axis = axis_name(joint)
    prim.AddAppliedSchema("PhysxJointAPI")
    prim.CreateAttribute("physxJoint:armature", Sdf.ValueTypeNames.Float, custom=False).Set(joint.armature)
    prim.AddAppliedSchema(f"PhysxJointAxisAPI:{axis}")
    for name, value in physx_values(joint).items():
        attribute = prim.CreateAttribute(f"physxJointAxis:{axis}:{name}", Sdf.ValueTypeNames.Float, custom=False)
        attribute.Set(value)


def _add_follower(stage: Any, joint: LinkJoint, joints: Mapping[str, LinkJoint]) -> None:
    """PhysX's mimic joint: position + gearing · leader + offset = 0. Our axes are x."""
    from pxr import Sdf

    assert joint.follows is not None
    prim = stage.GetPrimAtPath(joint_path(joint.name))
    prim.SetCustomDataByKey("gemel:follows", vars(joint.follows))
    if not is_followed(joint, joints):
        return
    prim.AddAppliedSchema(f"PhysxMimicJointAPI:{MIMIC_AXIS}")
    start, kinds = f"physxMimicJoint:{MIMIC_AXIS}", Sdf.ValueTypeNames
    prim.CreateAttribute(f"{start}:gearing", kinds.Float, custom=False).Set(-joint.follows.factor)
    prim.CreateAttribute(f"{start}:offset", kinds.Float, custom=False).Set(-joint.follows.offset / angle_unit(joint))
    prim.CreateAttribute(f"{start}:referenceJointAxis", kinds.Token, custom=False).Set(MIMIC_AXIS)
    leader = prim.CreateRelationship(f"{start}:referenceJoint", custom=False)
    leader.SetTargets([joint_path(joint.follows.leader)])


def _add_shape(stage: Any, path: str, shape: Shape) -> None:
    from pxr import Gf, UsdGeom, UsdPhysics

    purpose = "proxy" if shape.is_shown else "guide"
    radius, half = float(shape.size[0]), float(shape.size[1])
    if shape.kind == "mesh":
        is_hull = shape.is_touching
        prim = add_convex_collider(stage, path, shape.mesh, MATERIAL) if is_hull else add_mesh(
            stage, path, shape.mesh, purpose).GetPrim()  # fmt: skip
        UsdGeom.Imageable(prim).CreatePurposeAttr(purpose)
    elif shape.kind == "box":
        prim = UsdGeom.Cube.Define(stage, path).GetPrim()
    elif shape.kind == "sphere":
        prim = UsdGeom.Sphere.Define(stage, path).GetPrim()
        UsdGeom.Sphere(prim).CreateRadiusAttr(radius)
    else:
        schema = UsdGeom.Cylinder if shape.kind == "cylinder" else UsdGeom.Capsule
        prim = schema.Define(stage, path).GetPrim()
        schema(prim).CreateRadiusAttr(radius)
        schema(prim).CreateHeightAttr(2.0 * half)
        schema(prim).CreateAxisAttr("Z")
    place(prim, shape.T_link_shape)
    if shape.kind == "box":
        UsdGeom.Xformable(prim).AddScaleOp().Set(Gf.Vec3f(*shape.size.tolist()))  # a Cube is 2 wide
    UsdGeom.Gprim(prim).CreateDisplayColorAttr([Gf.Vec3f(*shape.rgb.tolist())])
    UsdGeom.Imageable(prim).CreatePurposeAttr(purpose)
    if shape.is_touching and shape.kind != "mesh":
        UsdPhysics.CollisionAPI.Apply(prim)
        bind_material(stage, prim, MATERIAL)


def _friction(scene: ExportScene) -> float:
    """Largest friction of any contact of the robot: of those that are not between objects, fixtures and table."""
    others = {TABLE, *scene.compiled.objects, *scene.twin.reconstruction.articulated}
    own = [c.friction[0] for c in scene.contacts if not {*contact_parts(scene, c)} <= others]
    return max(own, default=_FRICTION)


def _x_towards(axis: np.ndarray) -> SO3:
    """A rotation that takes x to a unit vector."""
    x = np.array([1.0, 0.0, 0.0])
    turn, cosine = np.cross(x, axis), float(axis @ x)
    sine = float(np.linalg.norm(turn))
    if sine < 1e-12:
        return SO3.identity() if cosine > 0.0 else SO3.exp(np.array([0.0, 0.0, math.pi]))
    return SO3.exp(turn / sine * math.atan2(sine, cosine))
