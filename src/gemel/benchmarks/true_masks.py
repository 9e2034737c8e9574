"""The true masks of a recorded stand-in world: the object's mesh at its true pose, behind what the true robot hides."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from gemel.artifacts.camera import WORLD
from gemel.geometry import SE3, SO3
from gemel.services.kinematics.link_meshes import link_meshes
from gemel.services.render.mesh_raster import rasterise
from gemel.worlds.truth import EpisodeTruth, Truth

_MEAN_JITTER_S = 0.0024
"""Mean of the frames' own delay: 3 ms times the mean of a standard half-normal variable."""


class TrueMasks:
    """Draws the truth of one recording, at the middle of each frame's exposure."""

    def __init__(self, truth: Truth, robot: Path) -> None:
        import mujoco

        from gemel.services.formats.robot_model import compile_robot

        self._mujoco: Any = mujoco
        self._truth = truth
        self._model = compile_robot(robot)
        self._data = mujoco.MjData(self._model)
        self._meshes = link_meshes(self._model)
        self._camera_from_name = {camera.name: camera for camera in truth.cameras}

    def mask(self, episode: int, camera_name: str, step: int) -> Bool[np.ndarray, "h w"]:
        """Pixels whose centre shows the object."""
        truth, camera = self._truth.episodes[episode], self._camera_from_name[camera_name]
        assert camera.model is not None
        assert camera.T_parent_camera is not None
        time_s = float(truth.times_s[step]) + camera.time_offset_s - _MEAN_JITTER_S
        Ts_world_link = self._links(truth, time_s)
        mount = SE3.identity() if camera.parent == WORLD else Ts_world_link[camera.parent]
        T_camera_world = (mount @ camera.T_parent_camera).inverse()
        m = camera.model
        lens = ((m.fx, m.fy, m.cx, m.cy), m.width, m.height)
        T_camera_object = T_camera_world @ _object_pose(truth, time_s)
        depth, face = rasterise(T_camera_object @ self._truth.vertices, self._truth.faces, *lens)
        robot, faces = self._robot_mesh(T_camera_world, Ts_world_link)
        robot_depth, _ = rasterise(robot, faces, *lens)
        return (face >= 0) & (depth < robot_depth)

    def _links(self, truth: EpisodeTruth, time_s: float) -> dict[str, SE3]:
        q = [np.interp(time_s, truth.times_s, column) for column in truth.joint_positions.T]
        self._data.qpos[:] = self._model.qpos0
        self._data.qpos[: len(q)] = q
        self._mujoco.mj_kinematics(self._model, self._data)
        poses = {}
        for i in range(1, self._model.nbody):
            body, root = self._model.body(i), self._model.body(int(self._model.body_rootid[i])).name
            pose = SE3(SO3(self._data.xquat[i].copy()), self._data.xpos[i].copy())
            poses[body.name] = self._moved_base(root) @ pose
        return poses

    def _moved_base(self, root: str) -> SE3:
        """From where the model puts a base to where it truly stands."""
        nominal = SE3(SO3(self._model.body(root).quat.copy()), self._model.body(root).pos.copy())
        bases = self._truth.T_world_bases
        true = next(iter(bases.values())) if len(bases) == 1 else next(T for n, T in bases.items() if n in root)
        return true @ nominal.inverse()

    def _robot_mesh(
        self, T_camera_world: SE3, Ts_world_link: dict[str, SE3]
    ) -> tuple[np.ndarray, Int[np.ndarray, "f 3"]]:
        vertices, faces, count = [], [], 0
        for mesh in self._meshes:
            link = self._model.body(mesh.link + 1).name
            vertices.append((T_camera_world @ Ts_world_link[link]) @ mesh.vertices)
            faces.append(mesh.faces + count)
            count += len(mesh.vertices)
        return np.concatenate(vertices), np.concatenate(faces)


def _object_pose(truth: EpisodeTruth, time_s: float) -> SE3:
    after = int(np.clip(np.searchsorted(truth.times_s, time_s), 1, len(truth.times_s) - 1))
    span = truth.times_s[after] - truth.times_s[after - 1]
    part = float(np.clip((time_s - truth.times_s[after - 1]) / span, 0.0, 1.0))
    return truth.Ts_world_object[after - 1].interpolate(truth.Ts_world_object[after], part)
