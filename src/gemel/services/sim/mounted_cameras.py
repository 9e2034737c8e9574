"""Cameras that a scene can hold: pinholes on the world or on a body, calibrated ones and the robot model's own."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import WORLD
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, choices_text
from gemel.geometry import SE3, SO3

T_CAMERA_GL = SE3(SO3(np.array([0.0, 1.0, 0.0, 0.0])), np.zeros(3))
"""From camera axes y up, looking along -z, as MuJoCo and USD have them, to y down, looking along z."""
_FIXED = 0
"""Code of mujoco.mjtCamLight: a camera that stays where it is mounted."""
_UNKNOWN_SIZE = (640, 480)
"""Of cameras whose model names no image size."""
_FOCAL_M = 0.001
"""Only ratios of focal length and sensor matter."""


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
        """Refuse a camera on something that a scene does not have."""
        places = tuple(dict.fromkeys((WORLD, *bodies)))
        if self.parent not in places:
            raise ConfigError(
                f"Camera {self.name!r} sits on a link that is not in the scene: {choices_text(self.parent, places)}",
                remedy="correct `parent` of the camera in twin.toml",
            )


def mounted_cameras(twin: Twin) -> tuple[MountedCamera, ...]:
    """The twin's calibrated cameras, as far as they hang somewhere."""
    return tuple(
        MountedCamera(c.name, c.parent, c.T_parent_camera, c.width, c.height,
                      np.array([c.model.fx, c.model.fy, c.model.cx, c.model.cy]))
        for c in twin.reconstruction.cameras
        if c.model is not None and c.T_parent_camera is not None
    )  # fmt: skip


def model_cameras(model: Any) -> tuple[MountedCamera, ...]:
    """The cameras of a compiled `mujoco.MjModel` that stay where they are mounted.

    One that names no image size gets 640 x 480; its height is what its angle is for.
    """
    return tuple(_model_camera(model, i) for i in range(model.ncam) if model.cam_mode[i] == _FIXED)


def _model_camera(model: Any, i: int) -> MountedCamera:
    body = int(model.cam_bodyid[i])
    size = np.array(model.cam_resolution[i], dtype=np.float64)
    if size.min() <= 1.0:
        size = np.array(_UNKNOWN_SIZE, dtype=np.float64)
    if model.cam_sensorsize[i].min() > 0.0:
        scale = size / model.cam_sensorsize[i]
        focal, centre = model.cam_intrinsic[i, :2] * scale, 0.5 * size - model.cam_intrinsic[i, 2:] * scale
    else:
        angle = np.deg2rad(float(model.cam_fovy[i]))
        focal, centre = np.full(2, 0.5 * size[1] / np.tan(0.5 * angle)), 0.5 * size
    T_parent_gl = SE3(SO3(np.array(model.cam_quat[i])), np.array(model.cam_pos[i]))
    return MountedCamera(
        name=model.camera(i).name,
        parent=model.body(body).name if body else WORLD,
        T_parent_camera=T_parent_gl @ T_CAMERA_GL.inverse(),
        width=int(size[0]),
        height=int(size[1]),
        intrinsics=np.concatenate([focal, centre]).astype(np.float64),
    )


def add_camera(spec: Any, camera: MountedCamera) -> None:
    """Mount a camera in a `mujoco.MjSpec`; one of the same name gives way: what was calibrated is better."""
    camera.check_parent([body.name for body in spec.bodies])
    if spec.camera(camera.name) is not None:
        spec.delete(spec.camera(camera.name))
    parent = spec.worldbody if camera.parent == WORLD else spec.body(camera.parent)
    T_parent_gl = camera.T_parent_camera @ T_CAMERA_GL
    fx, fy, cx, cy = camera.intrinsics.tolist()
    pixel_m = _FOCAL_M / fx
    parent.add_camera(
        name=camera.name, pos=T_parent_gl.translation, quat=T_parent_gl.rotation.wxyz,
        resolution=[camera.width, camera.height], focal_pixel=[fx, fy],
        sensor_size=[camera.width * pixel_m, camera.height * pixel_m],
        principal_pixel=[0.5 * camera.width - cx, 0.5 * camera.height - cy],
    )  # fmt: skip
