"""Cameras on a stage: calibrated ones and the robot model's own, below what carries them."""

from typing import Any

from gemel.artifacts.camera import WORLD
from gemel.outputs.export.scene import ExportScene
from gemel.outputs.export.usd_prims import link_path, object_path, place, prim_name
from gemel.services.sim.mounted_cameras import T_CAMERA_GL, MountedCamera

_FOCAL = 24.0
"""Only ratios of focal length and aperture matter."""


def camera_path(scene: ExportScene, camera: MountedCamera) -> str:
    """Where a camera is on the stage: below what carries it."""
    links, objects = [link.name for link in scene.links], [thing.name for thing in scene.objects]
    camera.check_parent((*links, *objects))
    if camera.parent == WORLD:
        return f"/World/Cameras/{prim_name(camera.name)}"
    body = link_path(camera.parent) if camera.parent in links else object_path(camera.parent)
    return f"{body}/cameras/{prim_name(camera.name)}"


def add_camera(stage: Any, scene: ExportScene, camera: MountedCamera) -> None:
    """A camera by the ratios of its focal length and aperture, off the middle as it was calibrated."""
    from pxr import UsdGeom

    fx, fy, cx, cy = camera.intrinsics.tolist()
    prim = UsdGeom.Camera.Define(stage, camera_path(scene, camera))
    prim.GetPrim().SetCustomDataByKey("gemel:name", camera.name)
    place(prim.GetPrim(), camera.T_parent_camera @ T_CAMERA_GL)
    prim.CreateFocalLengthAttr(_FOCAL)
    prim.CreateHorizontalApertureAttr(_FOCAL * camera.width / fx)
    prim.CreateVerticalApertureAttr(_FOCAL * camera.height / fy)
    prim.CreateHorizontalApertureOffsetAttr(_FOCAL * (0.5 * camera.width - cx) / fx)
    prim.CreateVerticalApertureOffsetAttr(_FOCAL * (cy - 0.5 * camera.height) / fy)
