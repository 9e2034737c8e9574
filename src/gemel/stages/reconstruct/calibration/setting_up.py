"""From observations to a calibration problem: robot, joint logs, and images of a handy size."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float32

from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import JointSignal
from gemel.geometry import Pinhole
from gemel.services.kinematics.joint_log import joint_log
from gemel.services.kinematics.link_meshes import link_meshes
from gemel.services.kinematics.robot_surface import RobotSurface
from gemel.services.kinematics.tree import kinematic_tree
from gemel.stages.reconstruct.calibration.config import CalibrationConfig
from gemel.stages.reconstruct.calibration.problem import Problem
from gemel.stages.reconstruct.calibration.robot_rig import RobotRig, ViewTimes
from gemel.stages.reconstruct.calibration.unknowns import Unknowns
from gemel.stages.reconstruct.observations import Observations


def set_up(
    observations: Observations, joints: tuple[JointSignal, ...], model: Any, config: CalibrationConfig
) -> Problem:
    """The calibration problem of a compiled robot (`mujoco.MjModel`) and what was observed of it."""
    tree = kinematic_tree(model)
    reduction = tuple(max(round(camera.width / config.width_px), 1) for camera in observations.cameras)
    cameras = [_reduced_camera(camera, n) for camera, n in zip(observations.cameras, reduction, strict=True)]
    logged = [signal.model_joint for signal in joints if signal.model_joint]
    hinges = [joint.name for joint in tree.joints if joint.is_hinge and joint.name in logged]
    roots = [tree.links[i] for i in tree.roots]
    by_view = [reduction[c] for c in observations.camera]
    return Problem(
        rig=RobotRig(
            tree,
            cameras,
            [joint_log(tree, joints, episode.times_s, episode.joint_positions) for episode in observations.episodes],
            ViewTimes(observations.camera, observations.episode, observations.times_s),
            Unknowns.of(hinges, roots, cameras, config.prior),
        ),
        surface=RobotSurface.of(link_meshes(model)),
        images=tuple(_reduced(image, n) for image, n in zip(observations.images, by_view, strict=True)),
        occupied=tuple(
            _reduced(mask[..., None].astype(np.float32), n)[..., 0] > 0.0
            for mask, n in zip(observations.occupied(), by_view, strict=True)
        ),
        reduction=reduction,
    )


def _reduced_camera(camera: Camera, n: int) -> Camera:
    model = camera.model
    assert isinstance(model, Pinhole)
    width, height = model.width // n, model.height // n
    small = Pinhole(width, height, model.fx / n, model.fy / n, model.cx / n, model.cy / n)
    sigma = None if camera.focal_sigma_px is None else camera.focal_sigma_px / n
    return replace(camera, width=width, height=height, model=small, focal_sigma_px=sigma)


def _reduced(image: Float32[np.ndarray, "h w c"], n: int) -> Float32[np.ndarray, "_ _ c"]:
    """Means of n x n blocks; a remainder at the right and at the bottom is left out."""
    height, width = image.shape[0] // n, image.shape[1] // n
    blocks = image[: height * n, : width * n].reshape(height, n, width, n, -1)
    return np.asarray(blocks.mean(axis=(1, 3)), dtype=np.float32)
