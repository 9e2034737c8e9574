"""Where the robot is in an image: its links, drawn from the robot model at the logged joint angles."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool

from gemel.geometry import SE3, SO3, CameraModel
from gemel.services.kinematics.link_meshes import link_meshes
from gemel.services.kinematics.robot_surface import RobotSurface
from gemel.services.render.mesh_raster import silhouette


class RobotShape:
    """A compiled `mujoco.MjModel`, posed by joint values; not safe to share between threads."""

    def __init__(self, model: Any) -> None:
        import mujoco

        self._mujoco = mujoco
        self._model = model
        self._data = mujoco.MjData(model)
        self._surface = RobotSurface.of(link_meshes(model))
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

    def silhouette(
        self, T_world_link: Mapping[str, SE3], camera: CameraModel, T_world_camera: SE3
    ) -> Bool[np.ndarray, "h w"]:
        """Pixels that any link covers; lens distortion is left out, which the margin of the mask allows for."""
        p_world = self._surface.in_world(np.stack([T_world_link[name].as_matrix() for name in self.links]))
        intrinsics = (camera.fx, camera.fy, camera.cx, camera.cy)
        p_camera = T_world_camera.inverse() @ p_world
        return silhouette(p_camera, self._surface.faces, intrinsics, camera.width, camera.height)
