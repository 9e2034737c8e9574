"""Where the robot is in an image: its links, drawn from the robot model at the logged joint angles."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from gemel.geometry import SE3, SO3, CameraModel
from gemel.services.kinematics.link_meshes import link_meshes

_NEAREST_M = 0.005
"""Triangles that reach nearer to the camera than this are cut off."""


class RobotShape:
    """A compiled robot model, posed by joint values; not safe to share between threads."""

    def __init__(self, model: Any) -> None:
        import mujoco

        self._mujoco = mujoco
        self._model = model
        self._data = mujoco.MjData(model)
        self._meshes = link_meshes(model)
        self.links = tuple(model.body(i).name for i in range(1, model.nbody))

    def link_poses(self, joint_values: Mapping[str, float]) -> dict[str, SE3]:
        """`T_world_link` of every link; joints that are not named stay at rest."""
        self._data.qpos[:] = self._model.qpos0
        for name, value in joint_values.items():
            self._data.qpos[self._model.joint(name).qposadr[0]] = value
        self._mujoco.mj_kinematics(self._model, self._data)
        return {
            name: SE3(SO3(self._data.xquat[i + 1].copy()), self._data.xpos[i + 1].copy())
            for i, name in enumerate(self.links)
        }

    def silhouette(self, T_world_link: Mapping[str, SE3], camera: CameraModel, T_world_camera: SE3) -> Bool[np.ndarray, "h w"]:
        """Pixels that any link covers."""
        import cv2

        canvas = np.zeros((camera.height, camera.width), dtype=np.uint8)
        T_camera_world = T_world_camera.inverse()
        for mesh in self._meshes:
            corners = (T_camera_world @ T_world_link[self.links[mesh.link]]) @ mesh.vertices
            for triangle in _visible(camera, corners[mesh.faces]):
                cv2.fillConvexPoly(canvas, triangle, 1, shift=4)
        return canvas.astype(bool)


def _visible(camera: CameraModel, triangles: Float[np.ndarray, "f 3 3"]) -> np.ndarray:
    """Corners of the triangles that may be in the image, in sixteenths of a pixel, centres at whole numbers."""
    ahead = (triangles[..., 2] > _NEAREST_M).all(axis=1)
    pixels = camera.project(triangles[ahead])
    size = np.array([camera.width, camera.height])
    outside = (pixels.max(axis=1) < 0).any(axis=1) | (pixels.min(axis=1) > size).any(axis=1)
    kept = pixels[~outside & np.isfinite(pixels).all(axis=(1, 2))]
    return np.round(16.0 * (np.clip(kept, -4e3, 4e3) - 0.5)).astype(np.int32)
