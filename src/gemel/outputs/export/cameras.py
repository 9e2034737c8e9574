"""Cameras of a twin that files can hold: pinholes on the world or on a body, and whether a file has them."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import WORLD
from gemel.errors import ConfigError, choices_text
from gemel.geometry import SE3, SO3, Pinhole
from gemel.outputs.export.report import Check
from gemel.outputs.export.scene import ExportScene

T_CAMERA_GL = SE3(SO3(np.array([0.0, 1.0, 0.0, 0.0])), np.zeros(3))
"""From camera axes y up, looking along -z, to y down, looking along z."""
_ROUNDING = 1e-9
_SINGLE_PRECISION = 1e-6
"""Relative difference that float32, in which MuJoCo and USD keep optics, may leave."""


@dataclass(frozen=True, eq=False)
class MountedCamera:
    """A camera with one mounting pose, without what its lens bends."""

    name: str
    parent: str
    """`world` or a body."""
    T_parent_camera: SE3
    width: int
    height: int
    intrinsics: Float[np.ndarray, "4"]
    """fx, fy, cx, cy [px]."""

    def check_parent(self, bodies: Collection[str]) -> None:
        """Refuse a camera on something that a file does not have."""
        places = tuple(dict.fromkeys((WORLD, *bodies)))
        if self.parent not in places:
            raise ConfigError(
                f"Camera {self.name!r} sits on a link that is not in the scene: {choices_text(self.parent, places)}",
                remedy="correct `parent` of the camera in twin.toml",
            )


@dataclass(frozen=True, eq=False)
class FoundCamera:
    """A camera as a file has it."""

    T_world_camera: SE3
    """At the start."""
    intrinsics: Float[np.ndarray, "4"]
    """fx, fy, cx, cy [px]."""


def mounted_cameras(scene: ExportScene) -> tuple[MountedCamera, ...]:
    """The cameras that can be written."""
    return tuple(
        MountedCamera(c.name, c.parent, c.T_parent_camera, c.width, c.height,
                      np.array([c.model.fx, c.model.fy, c.model.cx, c.model.cy]))
        for c in scene.twin.reconstruction.cameras
        if c.model is not None and c.T_parent_camera is not None
    )  # fmt: skip


def left_out_of_cameras(scene: ExportScene) -> tuple[str, ...]:
    """What the twin's cameras have and no file of pinholes can carry, in words."""
    words, cameras = [], scene.twin.reconstruction.cameras
    if any(c.model is not None and not isinstance(c.model, Pinhole) for c in cameras):
        words.append("lens distortion")
    if len(mounted_cameras(scene)) < len(cameras):
        words.append("cameras without one mounting pose")
    if any(c.time_offset_s for c in cameras):
        words.append("time offsets of cameras")
    return tuple(words)


def camera_checks(scene: ExportScene, read: Callable[[MountedCamera], FoundCamera | None]) -> tuple[Check, ...]:
    """Whether `read` finds all cameras, where they are at the start and with their optics."""
    cameras = mounted_cameras(scene)
    pairs = [(camera, found) for camera in cameras if (found := read(camera)) is not None]
    poses = [found.T_world_camera.as_matrix() - _T_world_camera(scene, camera).as_matrix() for camera, found in pairs]
    optics = [(found.intrinsics - camera.intrinsics) / camera.intrinsics[:2].min() for camera, found in pairs]
    return (
        Check("cameras missing", float(len(cameras) - len(pairs)), 0.0),
        Check("camera poses", float(np.abs(poses).max(initial=0.0)), _ROUNDING, "m, rad"),
        Check("camera optics", float(np.abs(optics).max(initial=0.0)), _SINGLE_PRECISION, "(part of the focal length)"),
    )


def _T_world_camera(scene: ExportScene, camera: MountedCamera) -> SE3:
    """Where a camera is at the start."""
    if camera.parent == WORLD:
        return camera.T_parent_camera
    return scene.T_world_link(camera.parent) @ camera.T_parent_camera
