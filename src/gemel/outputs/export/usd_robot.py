"""The robot on a stage: links as rigid bodies, joints with limits and drives, one articulation.

A joint of UsdPhysics turns about one axis of a frame that is given on both bodies. The frame's x axis is laid along the
joint's axis; on the parent it stands where the joint reads zero, so that limits and targets are the log's readings.
"""

import math
from typing import Any

import numpy as np

from gemel.geometry import SE3, SO3
from gemel.outputs.export.links import Link, LinkJoint, Shape
from gemel.outputs.export.scene import ExportScene
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

MATERIAL = "robot"
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
        add_body(stage, path, link.name, scene.T_world_link(link.name), link.inertia)
        for number, shape in enumerate(link.shapes):
            _add_shape(stage, f"{path}/shape{number}", shape)
        looks = scene.twin.reconstruction.links.get(link.name)
        if looks is not None:
            add_splat(stage, f"{path}/splat", gaussians_of(looks))
    for link in scene.links:
        _add_joint(stage, link)


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
    from pxr import Sdf, UsdPhysics

    unit = math.pi / 180.0 if joint.kind == "hinge" else 1.0
    if math.isfinite(joint.high):
        prim.CreateLowerLimitAttr(joint.low / unit)
        prim.CreateUpperLimitAttr(joint.high / unit)
    if joint.servo is not None:
        drive = UsdPhysics.DriveAPI.Apply(prim.GetPrim(), "angular" if joint.kind == "hinge" else "linear")
        drive.CreateTypeAttr("force")
        drive.CreateStiffnessAttr(joint.servo.gain * unit)
        drive.CreateDampingAttr(joint.servo.damping * unit)
        drive.CreateTargetPositionAttr(joint.rest / unit)
        if math.isfinite(joint.servo.effort):
            drive.CreateMaxForceAttr(joint.servo.effort)
    own = prim.GetPrim()
    own.SetCustomDataByKey("gemel:name", joint.name)
    for name, value in (("damping", joint.damping), ("friction", joint.friction)):
        own.CreateAttribute(f"gemel:{name}", Sdf.ValueTypeNames.Double, custom=True).Set(value)
    if joint.follows is not None:
        own.SetCustomDataByKey("gemel:follows", vars(joint.follows))


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
    """Largest friction of any contact of the robot."""
    objects = {f"{thing.name}-table" for thing in scene.objects}
    return max((c.friction[0] for c in scene.contacts if c.label not in objects), default=_FRICTION)


def _x_towards(axis: np.ndarray) -> SO3:
    """A rotation that takes x to a unit vector."""
    x = np.array([1.0, 0.0, 0.0])
    turn, cosine = np.cross(x, axis), float(axis @ x)
    sine = float(np.linalg.norm(turn))
    if sine < 1e-12:
        return SO3.identity() if cosine > 0.0 else SO3.exp(np.array([0.0, 0.0, math.pi]))
    return SO3.exp(turn / sine * math.atan2(sine, cosine))
