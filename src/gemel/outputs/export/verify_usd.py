"""A stage read back in each of its three forms and compared with the twin, field by field."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gemel.artifacts.gaussians import Gaussians
from gemel.geometry import SE3, SO3, Inertia
from gemel.outputs.export.cameras import T_CAMERA_GL, FoundCamera, MountedCamera, camera_checks
from gemel.outputs.export.felt_servo import felt_servo
from gemel.outputs.export.links import LinkJoint
from gemel.outputs.export.report import Check
from gemel.outputs.export.same_gaussians import same_gaussians
from gemel.outputs.export.scene import ExportScene
from gemel.outputs.export.usd import ENDINGS, camera_path
from gemel.outputs.export.usd_prims import link_path, object_material, object_path
from gemel.outputs.export.usd_robot import joint_path
from gemel.services.formats.usd_splat import PRIM_TYPE, read_splat
from gemel.services.render.bound_gaussians import gaussians_of

_SINGLE_PRECISION = 1e-6
"""Relative difference that float32, in which UsdPhysics keeps numbers, may leave."""


def verify_usd(scene: ExportScene, folder: Path) -> tuple[Check, ...]:
    """The worst of the three files for every check."""
    found = [_checks(scene, folder / f"scene.{ending}") for ending in ENDINGS]
    return tuple(max(same, key=lambda check: _rank(check.measured)) for same in zip(*found, strict=True))


def _rank(measured: float) -> float:
    return math.inf if math.isnan(measured) else measured


def _checks(scene: ExportScene, path: Path) -> tuple[Check, ...]:
    from pxr import Usd

    stage = Usd.Stage.Open(str(path))
    bodies = [*_bodies(scene)]
    ours = [thing.inertia for _, _, thing in _with_mass(bodies)]
    theirs = [_inertia(stage, where) for where, _, _ in _with_mass(bodies)]
    joints = [link.joint for link in scene.links if link.joint is not None and link.joint.kind != "free"]
    return (
        Check("stage units and axes wrong", float(_wrong_metrics(stage)), 0.0),
        Check("bodies without schema", float(sum(not _is_body(stage, where) for where, _, _ in bodies)), 0.0),
        Check("physics refused by USD's parser", float(_refused(stage)), 0.0),
        Check("mass", _relative([i.mass_kg for i in ours], [i.mass_kg for i in theirs]), _SINGLE_PRECISION, "(part)"),
        Check("centre of mass", _largest([i.p_BoBcm_B for i in ours], [i.p_BoBcm_B for i in theirs]), 1e-7, "m"),
        Check("inertia", max((_inertia_part(a, b) for a, b in zip(ours, theirs, strict=True)), default=0.0),
              _SINGLE_PRECISION, "(part)"),
        Check("poses", max((_pose_difference(stage, where, T) for where, T, _ in bodies), default=0.0), 1e-9, "m, rad"),
        Check("joint limits", max((_limit_part(stage, scene.model, j) for j in joints), default=0.0),
              _SINGLE_PRECISION, "(part)"),
        Check("drives", max((_drive_part(stage, scene.model, j) for j in joints), default=0.0),
              _SINGLE_PRECISION, "(part)"),
        Check("joint frames", max((_joint_gap(stage, j) for j in joints), default=0.0), 1e-6, "m, rad"),
        *camera_checks(scene, lambda camera: _found_camera(scene, stage, camera)),
        Check("friction", _friction_difference(scene, stage), 1e-7),
        Check("colliders that differ", float(_different_colliders(scene, stage)), 0.0),
        Check("splats that differ", float(_different_splats(scene, stage, path)), 0.0),
        Check("textures that do not resolve", float(_unresolved(stage)), 0.0),
    )  # fmt: skip


def _bodies(scene: ExportScene) -> Iterator[tuple[str, SE3, Any]]:
    """Path, pose in the world and record of all rigid bodies."""
    for thing in scene.objects:
        yield object_path(thing.name), thing.T_world_object, thing
    for link in scene.links:
        yield link_path(link.name), scene.T_world_link(link.name), link


def _with_mass(bodies: list[tuple[str, SE3, Any]]) -> list[tuple[str, SE3, Any]]:
    return [body for body in bodies if body[2].inertia is not None]


def _wrong_metrics(stage: Any) -> int:
    from pxr import UsdGeom, UsdPhysics

    return (
        (UsdGeom.GetStageMetersPerUnit(stage) != 1.0)
        + (UsdGeom.GetStageUpAxis(stage) != UsdGeom.Tokens.z)
        + (UsdPhysics.GetStageKilogramsPerUnit(stage) != 1.0)
    )


def _is_body(stage: Any, path: str) -> bool:
    from pxr import UsdPhysics

    prim = stage.GetPrimAtPath(path)
    return bool(prim) and prim.HasAPI(UsdPhysics.RigidBodyAPI)


def _refused(stage: Any) -> int:
    """Objects that OpenUSD's own physics parser finds invalid."""
    from pxr import UsdPhysics

    name = "UsdPhysicsLoadStageFromPrimRange"  # 26.11; `LoadUsdPhysicsFromRange` before
    load = getattr(UsdPhysics, name if hasattr(UsdPhysics, name) else "LoadUsdPhysicsFromRange")
    found = load(stage, ["/World"])
    return sum(not description.isValid for _, descriptions in found.values() for description in descriptions)


def _inertia(stage: Any, path: str) -> Inertia:
    from pxr import UsdPhysics

    mass = UsdPhysics.MassAPI(stage.GetPrimAtPath(path))
    R = _rotation(mass.GetPrincipalAxesAttr().Get()).as_matrix()
    moments = np.array(mass.GetDiagonalInertiaAttr().Get(), dtype=np.float64)
    return Inertia(mass.GetMassAttr().Get(), np.array(mass.GetCenterOfMassAttr().Get()), R @ np.diag(moments) @ R.T)


def _rotation(quaternion: Any) -> SO3:
    return SO3(np.array([quaternion.GetReal(), *quaternion.GetImaginary()], dtype=np.float64))


def _relative(ours: list[float], theirs: list[float]) -> float:
    return max((abs(b - a) / abs(a) if a else abs(b) for a, b in zip(ours, theirs, strict=True)), default=0.0)


def _largest(ours: list[np.ndarray], theirs: list[np.ndarray]) -> float:
    return max((float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True)), default=0.0)


def _inertia_part(ours: Inertia, theirs: Inertia) -> float:
    return float(np.abs(ours.I_BBcm_B - theirs.I_BBcm_B).max() / np.abs(ours.I_BBcm_B).max())


def _pose_difference(stage: Any, path: str, T_world_body: SE3) -> float:
    return float(np.abs(_world_matrix(stage, path) - T_world_body.as_matrix()).max())


def _world_matrix(stage: Any, path: Any) -> np.ndarray:
    """Where a prim is in the world, (4, 4)."""
    from pxr import Usd, UsdGeom

    prim = UsdGeom.Xformable(stage.GetPrimAtPath(path))
    return np.array(prim.ComputeLocalToWorldTransform(Usd.TimeCode.Default())).T


def _found_camera(scene: ExportScene, stage: Any, camera: MountedCamera) -> FoundCamera | None:
    """A camera by the frustum that OpenUSD itself makes of the prim; a stage has no pixels, so they are the twin's."""
    from pxr import Usd, UsdGeom

    path = camera_path(scene, camera)
    prim = UsdGeom.Camera(stage.GetPrimAtPath(path))
    if not prim:
        return None
    window = prim.GetCamera(Usd.TimeCode.Default()).frustum.GetWindow()
    (left, bottom), (right, top) = window.GetMin(), window.GetMax()
    fx, fy = camera.width / (right - left), camera.height / (top - bottom)
    T_world_camera = SE3.from_matrix(_world_matrix(stage, path)) @ T_CAMERA_GL.inverse()
    return FoundCamera(T_world_camera, np.array([fx, fy, -left * fx, top * fy]))


def _limit_part(stage: Any, model: Any, joint: LinkJoint) -> float:
    """Relative difference of a joint's limits from the model's, in SI units again."""
    from pxr import UsdPhysics

    prim, j = stage.GetPrimAtPath(joint_path(joint.name)), int(model.joint(joint.name).id)
    schema = UsdPhysics.RevoluteJoint(prim) if joint.kind == "hinge" else UsdPhysics.PrismaticJoint(prim)
    unit = _unit(joint)
    low, high = (unit * attribute.Get() for attribute in (schema.GetLowerLimitAttr(), schema.GetUpperLimitAttr()))
    if not model.jnt_limited[j]:
        return 0.0 if math.isinf(high) else math.inf
    return _relative(model.jnt_range[j].tolist(), [low, high])


def _drive_part(stage: Any, model: Any, joint: LinkJoint) -> float:
    """Relative difference of a joint's drive from what the joint feels in the model, in SI units again."""
    from pxr import UsdPhysics

    prim, kind = stage.GetPrimAtPath(joint_path(joint.name)), "angular" if joint.kind == "hinge" else "linear"
    felt, unit = felt_servo(model, joint.name), _unit(joint)
    if not prim.HasAPI(UsdPhysics.DriveAPI, kind):
        return 0.0 if felt.gain == felt.damping == 0.0 else math.inf
    drive = UsdPhysics.DriveAPI.Get(prim, kind)
    effort = float(drive.GetMaxForceAttr().Get())
    if math.isinf(felt.effort) or math.isinf(effort):
        ours, theirs = [0.0], [0.0 if felt.effort == effort else math.inf]
    else:
        ours, theirs = [felt.effort], [effort]
    theirs += [drive.GetStiffnessAttr().Get() / unit, drive.GetDampingAttr().Get() / unit]
    return _relative([*ours, felt.gain, felt.damping], theirs)


def _unit(joint: LinkJoint) -> float:
    """UsdPhysics has angles in degrees."""
    return math.pi / 180.0 if joint.kind == "hinge" else 1.0


def _joint_gap(stage: Any, joint: LinkJoint) -> float:
    """How far the two frames of a joint are apart when it reads what it reads at the start."""
    from pxr import UsdPhysics

    prim = UsdPhysics.Joint(stage.GetPrimAtPath(joint_path(joint.name)))
    frames = []
    for bodies, position, rotation in (
        (prim.GetBody0Rel(), prim.GetLocalPos0Attr(), prim.GetLocalRot0Attr()),
        (prim.GetBody1Rel(), prim.GetLocalPos1Attr(), prim.GetLocalRot1Attr()),
    ):
        world = np.eye(4)
        for target in bodies.GetTargets():
            world = _world_matrix(stage, target)
        local = SE3(_rotation(rotation.Get()), np.array(position.Get(), dtype=np.float64))
        frames.append(SE3.from_matrix(world) @ local)
    along_x = np.array([joint.rest, 0.0, 0.0])
    is_hinge = joint.kind == "hinge"
    motion = SE3(SO3.exp(along_x), np.zeros(3)) if is_hinge else SE3(SO3.identity(), along_x)
    return float(np.abs((frames[0] @ motion).as_matrix() - frames[1].as_matrix()).max())


def _friction_difference(scene: ExportScene, stage: Any) -> float:
    from pxr import UsdPhysics

    worst = 0.0
    for thing in scene.objects:
        contact = scene.contact(thing.name)
        material = UsdPhysics.MaterialAPI(stage.GetPrimAtPath(f"/World/Materials/{object_material(thing.name)}"))
        if contact is not None:
            for attribute in (material.GetStaticFrictionAttr(), material.GetDynamicFrictionAttr()):
                worst = max(worst, abs(attribute.Get() - contact.friction[0]))
    return worst


def _different_colliders(scene: ExportScene, stage: Any) -> int:
    """Pieces that are missing, have other points, or lack the schemas that make them touch."""
    from pxr import UsdGeom, UsdPhysics

    count = 0
    for thing in scene.objects:
        for number, (vertices, faces) in enumerate(thing.pieces):
            prim = stage.GetPrimAtPath(f"{object_path(thing.name)}/colliders/piece{number}")
            is_there = bool(prim) and prim.HasAPI(UsdPhysics.CollisionAPI) and prim.HasAPI(UsdPhysics.MeshCollisionAPI)
            mesh = UsdGeom.Mesh(prim)
            count += not (
                is_there
                and np.array_equal(np.array(mesh.GetPointsAttr().Get()), vertices.astype(np.float32))
                and np.array_equal(np.array(mesh.GetFaceVertexIndicesAttr().Get()), faces.ravel())
            )
    return count


def _splats(scene: ExportScene) -> Iterator[tuple[str, Gaussians]]:
    seen = scene.twin.reconstruction
    yield from ((f"{object_path(thing.name)}/splat", thing.gaussians) for thing in scene.objects)
    names = {link.name for link in scene.links}
    yield from ((f"{link_path(name)}/splat", gaussians_of(m)) for name, m in seen.links.items() if name in names)
    if seen.table is not None:
        yield "/World/Table/splat", gaussians_of(seen.table)
    if seen.background is not None:
        yield "/World/Background/splat", seen.background


def _different_splats(scene: ExportScene, stage: Any, path: Path) -> int:
    count = 0
    for where, gaussians in _splats(scene):
        prim = stage.GetPrimAtPath(where)
        if not len(gaussians):
            continue
        count += not prim or prim.GetTypeName() != PRIM_TYPE or not same_gaussians(gaussians, read_splat(path, prim))
    return count


def _unresolved(stage: Any) -> int:
    """Pictures that cannot be found from the stage, also inside the .usdz."""
    from pxr import Ar, Sdf

    count = 0
    for prim in stage.Traverse():
        for attribute in prim.GetAttributes():
            if attribute.GetTypeName() == Sdf.ValueTypeNames.Asset and attribute.Get() is not None:
                resolved = attribute.Get().resolvedPath
                count += not resolved or Ar.GetResolver().OpenAsset(Ar.ResolvedPath(resolved)) is None
    return count
