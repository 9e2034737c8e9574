"""The true masks of a recorded stand-in world: the object's mesh at its true pose, behind what the true robot hides."""

from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from gemel.benchmarks.true_poses import TruePoses
from gemel.geometry import SE3
from gemel.services.kinematics.link_meshes import link_meshes
from gemel.services.kinematics.robot_surface import RobotSurface
from gemel.services.render.mesh_raster import rasterise
from gemel.worlds.truth import EpisodeTruth, Truth


class TrueMasks:
    """Draws the truth of one recording, at the middle of each frame's exposure."""

    def __init__(self, truth: Truth, robot: Path) -> None:
        from gemel.services.formats.robot_model import compile_robot

        model = compile_robot(robot)
        self._truth = truth
        self._surface = RobotSurface.of(link_meshes(model))
        self._poses = cache(lambda episode: TruePoses(truth, model, episode))
        self._model_from_camera = {camera.name: camera.model for camera in truth.cameras}

    def mask(self, episode: int, camera_name: str, step: int) -> Bool[np.ndarray, "h w"]:
        """Pixels whose centre shows the object."""
        truth, poses, lens = self._truth.episodes[episode], self._poses(episode), self._model_from_camera[camera_name]
        assert lens is not None
        stamp_s = truth.times_s[step : step + 1]
        (time_s,) = poses.middles_s([camera_name], stamp_s)
        T_camera_world = SE3.from_matrix(poses.cameras([camera_name], stamp_s)[0]).inverse()
        p_object = T_camera_world @ (_object_pose(truth, float(time_s)) @ self._truth.vertices)
        p_robot = T_camera_world @ self._surface.in_world(poses.links(np.array([time_s]))[0])
        intrinsics = (lens.fx, lens.fy, lens.cx, lens.cy)
        depth, face = rasterise(p_object, self._truth.faces, intrinsics, lens.width, lens.height)
        robot_depth, _ = rasterise(p_robot, self._surface.faces, intrinsics, lens.width, lens.height)
        return (face >= 0) & (depth < robot_depth)


def _object_pose(truth: EpisodeTruth, time_s: float) -> SE3:
    after = int(np.clip(np.searchsorted(truth.times_s, time_s), 1, len(truth.times_s) - 1))
    span = truth.times_s[after] - truth.times_s[after - 1]
    part = float(np.clip((time_s - truth.times_s[after - 1]) / span, 0.0, 1.0))
    return truth.Ts_world_object[after - 1].interpolate(truth.Ts_world_object[after], part)
