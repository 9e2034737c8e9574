"""Where cameras and robot are: by calibration with a robot, as given without one."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.camera import WORLD, Camera
from gemel.artifacts.capture import JointSignal
from gemel.errors import SourceError
from gemel.geometry import SE3, Pinhole
from gemel.stages.reconstruct.calibration.calibrate import Calibration, CalibrationInfo, OnProgress, calibrate
from gemel.stages.reconstruct.calibration.config import CalibrationConfig
from gemel.stages.reconstruct.calibration.problem import Problem
from gemel.stages.reconstruct.calibration.robot_in_view import robot_mask
from gemel.stages.reconstruct.calibration.setting_up import set_up
from gemel.stages.reconstruct.observations import Observations

_ROBOT_MARGIN_PX = 2
"""The robot is drawn this much wider than predicted, at 160 px: what is next to it may be it."""


@dataclass(frozen=True, eq=False)
class Located:
    """Poses of all views, and what they were derived from."""

    Ts_world_camera: SE3
    """Batch (v,)."""
    intrinsics: Float[np.ndarray, "v 4"]
    """For the full images [px]."""
    robots: tuple[Bool[np.ndarray, "h w"], ...]
    """Pixels of each view that may show the robot."""
    problem: Problem | None = None
    calibration: Calibration | None = None
    info: CalibrationInfo | None = None


def locate_by_robot(
    observations: Observations,
    joints: tuple[JointSignal, ...],
    model: Any,
    config: CalibrationConfig,
    *,
    is_calibrated: bool,
    on_progress: OnProgress,
) -> Located:
    """Poses by calibration; or, if it is not wanted, by what the lab believes."""
    problem = set_up(observations, joints, model, config)
    if is_calibrated:
        calibration, info = calibrate(problem, config, on_progress=on_progress)
    else:
        theta = np.zeros(len(problem.rig.unknowns))
        prior = np.diag(problem.rig.unknowns.sigma**2)
        calibration, info = Calibration(theta, prior, problem.rig.jacobians(theta)), None
    return located_at(observations, problem, calibration, info)


def located_at(
    observations: Observations, problem: Problem, calibration: Calibration, info: CalibrationInfo | None
) -> Located:
    """Poses, intrinsics and robot masks of all views at a calibration, for the full images."""
    poses = calibration.jacobians.poses
    scale = np.array([problem.reduction[c] for c in observations.camera], dtype=np.float64)
    intrinsics = poses.intrinsics * scale[:, None]
    full = replace(poses, intrinsics=intrinsics)
    robots = []
    for v, image in enumerate(observations.images):
        margin_px = _ROBOT_MARGIN_PX * max(image.shape[1] // 160, 1)
        robots.append(robot_mask(problem.surface, full, v, image.shape[:2], margin_px=margin_px))
    Ts_world_camera = SE3.from_matrix(np.linalg.inv(poses.Ts_camera_world))
    return Located(Ts_world_camera, intrinsics, tuple(robots), problem, calibration, info)


def locate_as_given(observations: Observations) -> Located:
    """Poses as the log gives them: they are the gauge."""
    poses, rows = [], []
    for c, e, s in zip(observations.camera, observations.episode, observations.step, strict=True):
        camera, episode = observations.cameras[c], observations.episodes[e]
        poses.append(_given_pose(camera, episode.camera_poses, int(s)).as_matrix())
        per_frame = episode.camera_intrinsics.get(camera.name)
        rows.append(_intrinsics(camera) if per_frame is None else per_frame[s])
    nothing = tuple(np.zeros(image.shape[:2], dtype=bool) for image in observations.images)
    return Located(SE3.from_matrix(np.stack(poses)), np.array(rows), nothing)


def _given_pose(camera: Camera, poses: Any, step: int) -> SE3:
    if camera.name in poses:
        return poses[camera.name][step]
    if camera.parent == WORLD and camera.T_parent_camera is not None:
        return camera.T_parent_camera
    raise SourceError(
        f"Camera {camera.name!r} is mounted on {camera.parent!r}, but there is no robot model to say where that is.",
        remedy="give the robot model (`[robot] model` in twin.toml), or poses per frame",
    )


def _intrinsics(camera: Camera) -> tuple[float, float, float, float]:
    assert isinstance(camera.model, Pinhole)
    return camera.model.fx, camera.model.fy, camera.model.cx, camera.model.cy
