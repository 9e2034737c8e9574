"""Whether a file has the twin's cameras, and what of them files of pinholes leave out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import WORLD
from gemel.geometry import SE3, Pinhole
from gemel.outputs.export.report import Check, largest
from gemel.outputs.export.scene import ExportScene
from gemel.services.sim.mounted_cameras import MountedCamera, model_cameras, mounted_cameras

_ROUNDING = 1e-9
_SINGLE_PRECISION = 1e-6
"""Relative difference that float32, in which MuJoCo and USD keep optics, may leave."""


@dataclass(frozen=True, eq=False)
class FoundCamera:
    """A camera as a file has it."""

    T_world_camera: SE3
    """At the start."""
    intrinsics: Float[np.ndarray, "4"]
    """fx, fy, cx, cy [px]."""


def all_cameras(scene: ExportScene) -> tuple[MountedCamera, ...]:
    """Calibrated cameras, and those of the robot's own model whose names are not among them."""
    calibrated = mounted_cameras(scene.twin)
    names = {camera.name for camera in calibrated}
    places = {WORLD, *scene.compiled.objects, *(scene.model.body(i).name for i in scene.robot_bodies)}
    own = [c for c in model_cameras(scene.model) if c.name not in names and c.parent in places]
    return (*calibrated, *own)


def left_out_of_cameras(scene: ExportScene) -> tuple[str, ...]:
    """What the twin's cameras have and no file of pinholes can carry, in words."""
    words, cameras = [], scene.twin.reconstruction.cameras
    if any(c.model is not None and not isinstance(c.model, Pinhole) for c in cameras):
        words.append("lens distortion")
    if len(mounted_cameras(scene.twin)) < len(cameras):
        words.append("cameras without one mounting pose")
    return tuple(words)


def late_cameras(scene: ExportScene) -> tuple[str, ...]:
    """Words about clocks, for formats that have no place for them."""
    is_late = any(c.time_offset_s for c in scene.twin.reconstruction.cameras)
    return ("time offsets of cameras",) if is_late else ()


def camera_checks(
    scene: ExportScene, cameras: Sequence[MountedCamera], read: Callable[[MountedCamera], FoundCamera | None]
) -> tuple[Check, ...]:
    """Whether `read` finds all cameras, where they are at the start and with their optics."""
    pairs = [(camera, found) for camera in cameras if (found := read(camera)) is not None]
    poses = [found.T_world_camera.as_matrix() - _T_world_camera(scene, camera).as_matrix() for camera, found in pairs]
    optics = [(found.intrinsics - camera.intrinsics) / camera.intrinsics[:2].min() for camera, found in pairs]
    return (
        Check("cameras missing", float(len(cameras) - len(pairs)), 0.0),
        Check("camera poses", largest(*poses), _ROUNDING, "m, rad"),
        Check("camera optics", largest(*optics), _SINGLE_PRECISION, "(part of the focal length)"),
    )


def _T_world_camera(scene: ExportScene, camera: MountedCamera) -> SE3:
    """Where a camera is at the start."""
    if camera.parent == WORLD:
        return camera.T_parent_camera
    return scene.T_world_link(camera.parent) @ camera.T_parent_camera
