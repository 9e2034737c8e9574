"""A stage read back in each of its three forms and compared with the twin.

First by meaning, with the compiled model: units, masses, frames, limits, drives, what counts where two materials touch.
Then every field of every prim with the stage as it was built in memory (`usd_layers.py`), and every pixel.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gemel.geometry import SE3, SO3, Inertia
from gemel.outputs.export.bake import BakedMesh
from gemel.outputs.export.cameras import FoundCamera, all_cameras, camera_checks
from gemel.outputs.export.report import Check, largest
from gemel.outputs.export.same_gaussians import same_gaussians
from gemel.outputs.export.scene import ExportScene
from gemel.outputs.export.usd import ENDINGS, build_stage
from gemel.outputs.export.usd_cameras import camera_path
from gemel.outputs.export.usd_layers import layer_checks
from gemel.outputs.export.usd_prims import link_path, object_path
from gemel.outputs.export.verify_usd_contacts import contact_checks
from gemel.outputs.export.verify_usd_robot import robot_checks, world_matrix
from gemel.services.formats.image_file import decode_image
from gemel.services.formats.usd_splat import PRIM_TYPE, read_splat
from gemel.services.sim.mounted_cameras import T_CAMERA_GL, MountedCamera

_SINGLE_PRECISION = 1e-6
"""Relative difference that float32, in which UsdPhysics keeps numbers, may leave."""


def verify_usd(scene: ExportScene, baked: dict[str, BakedMesh], folder: Path) -> tuple[Check, ...]:
    """The worst of the three files for every check."""
    meant = build_stage(scene, baked)
    found = [_checks(scene, baked, meant, folder / f"scene.{ending}") for ending in ENDINGS]
    return tuple(max(same, key=lambda check: _rank(check.measured)) for same in zip(*found, strict=True))


def _rank(measured: float) -> float:
    return math.inf if math.isnan(measured) else measured


def _checks(scene: ExportScene, baked: dict[str, BakedMesh], meant: Any, path: Path) -> tuple[Check, ...]:
    from pxr import Usd

    stage = Usd.Stage.Open(str(path))
    bodies = [*_bodies(scene)]
    poses = [world_matrix(stage, where) - T.as_matrix() for where, T, _ in bodies]
    return (
        Check("stage units and axes wrong", float(_wrong_metrics(stage)), 0.0),
        Check("bodies without schema", float(sum(not _is_body(stage, where) for where, _, _ in bodies)), 0.0),
        Check("physics refused by USD's parser", float(_refused(stage)), 0.0),
        *_mass_checks(stage, bodies),
        Check("poses", largest(*poses), 1e-9, "m, rad"),
        *robot_checks(scene, stage),
        *camera_checks(scene, all_cameras(scene), lambda camera: _found_camera(scene, stage, camera)),
        *contact_checks(scene, stage),
        Check("splats that differ", float(_different_splats(scene, stage, path)), 0.0),
        *layer_checks(meant.GetRootLayer(), stage.GetRootLayer()),
        Check("pictures", _picture_difference(scene, baked, stage), 0.0, "(of 255)"),
    )  # fmt: skip


def _bodies(scene: ExportScene) -> Iterator[tuple[str, SE3, Inertia | None]]:
    """Path, pose in the world and mass properties of all rigid bodies."""
    for thing in scene.objects:
        yield object_path(thing.name), thing.T_world_object, thing.inertia
    for link in scene.links:
        yield link_path(link.name), scene.T_world_link(link.name), link.inertia


def _mass_checks(stage: Any, bodies: list[tuple[str, SE3, Inertia | None]]) -> tuple[Check, ...]:
    pairs = [(inertia, _inertia(stage, where)) for where, _, inertia in bodies if inertia is not None]
    return (
        Check("mass", largest((a.mass_kg - b.mass_kg) / a.mass_kg for a, b in pairs), _SINGLE_PRECISION, "(part)"),
        Check("centre of mass", largest(*(a.p_BoBcm_B - b.p_BoBcm_B for a, b in pairs)), 1e-7, "m"),
        Check("inertia", largest(*((a.I_BBcm_B - b.I_BBcm_B) / np.abs(a.I_BBcm_B).max() for a, b in pairs)),
              _SINGLE_PRECISION, "(part)"),
    )  # fmt: skip


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
    axes = mass.GetPrincipalAxesAttr().Get()
    R = SO3(np.array([axes.GetReal(), *axes.GetImaginary()], dtype=np.float64)).as_matrix()
    moments = np.array(mass.GetDiagonalInertiaAttr().Get(), dtype=np.float64)
    return Inertia(mass.GetMassAttr().Get(), np.array(mass.GetCenterOfMassAttr().Get()), R @ np.diag(moments) @ R.T)


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
    T_world_camera = SE3.from_matrix(world_matrix(stage, path)) @ T_CAMERA_GL.inverse()
    return FoundCamera(T_world_camera, np.array([fx, fy, -left * fx, top * fy]))


def _splat_paths(scene: ExportScene) -> dict[str, str]:
    """Where the splats of each part are."""
    paths = {thing.name: object_path(thing.name) for thing in scene.objects}
    paths |= {link.name: link_path(link.name) for link in scene.links}
    return {**paths, "table": "/World/Table", "background": "/World/Background"}


def _different_splats(scene: ExportScene, stage: Any, path: Path) -> int:
    count, paths = 0, _splat_paths(scene)
    for part, gaussians in scene.splats().items():
        prim = stage.GetPrimAtPath(f"{paths[part]}/splat")
        count += not prim or prim.GetTypeName() != PRIM_TYPE or not same_gaussians(gaussians, read_splat(path, prim))
    return count


def _picture_difference(scene: ExportScene, baked: dict[str, BakedMesh], stage: Any) -> float:
    """Largest difference of a pixel, of the pictures as the stage finds them; infinite for one that it does not."""
    from pxr import Ar

    apart = []
    for thing in scene.objects:
        prim = stage.GetPrimAtPath(f"{object_path(thing.name)}/mesh/looks/texture")
        named = prim.GetAttribute("inputs:file").Get() if prim else None
        resolved = named.resolvedPath if named is not None else ""
        asset = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(resolved)) if resolved else None
        if asset is None:
            return math.inf
        image = decode_image(bytes(asset.GetBuffer()))
        meant = baked[thing.name].texture
        apart.append(largest(image.astype(float) - meant) if image.shape == meant.shape else math.inf)
    return largest(apart)
