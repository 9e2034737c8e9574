"""What calibration found, in the words of the capture: cameras with what uncertainty remains, and joint offsets."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import JointSignal
from gemel.stages.reconstruct.located import Located


def cameras_of(given: Sequence[Camera], used: Sequence[Camera], located: Located) -> tuple[Camera, ...]:
    """All cameras of the capture; those that were calibrated with their new mounting, optics and clock."""
    if located.problem is None or located.calibration is None:
        return tuple(given)
    index_from_name = {camera.name: index for index, camera in enumerate(used)}
    return tuple(
        _calibrated(camera, index_from_name[camera.name], located) if camera.name in index_from_name else camera
        for camera in given
    )


def _calibrated(camera: Camera, index: int, located: Located) -> Camera:
    assert located.problem is not None
    assert located.calibration is not None
    assert camera.model is not None
    rig, theta = located.problem.rig, located.calibration.theta
    sigma = np.sqrt(np.diag(located.calibration.covariance))
    unknowns, name = rig.unknowns, camera.name
    scale = float(np.exp(theta[unknowns.log_focal(name)]))
    mounting = unknowns.camera(name)
    return replace(
        camera,
        model=replace(camera.model, fx=camera.model.fx * scale, fy=camera.model.fy * scale),
        T_parent_camera=rig.camera_mounting(theta, index),
        time_offset_s=rig.time_offset_s(theta, index),
        focal_sigma_px=float(sigma[unknowns.log_focal(name)] * camera.model.fx),
        translation_sigma_m=float(np.sqrt(np.mean(sigma[mounting][:3] ** 2))),
        rotation_sigma_rad=float(np.sqrt(np.mean(sigma[mounting][3:] ** 2))),
        time_offset_sigma_s=float(sigma[unknowns.time(name)]),
    )


Column = Float[np.ndarray, " joint"]


def joint_columns(joints: Sequence[JointSignal], located: Located) -> tuple[Column, Column, Column]:
    """Offsets, their standard deviations, and half plays, one for each logged joint; unknown ones are 0 ± infinity."""
    offsets, plays = np.zeros(len(joints)), np.zeros(len(joints))
    sigmas = np.full(len(joints), np.inf)
    if located.problem is not None and located.calibration is not None:
        unknowns, theta = located.problem.rig.unknowns, located.calibration.theta
        deviations = np.sqrt(np.diag(located.calibration.covariance))
        for column, signal in enumerate(joints):
            if signal.model_joint in unknowns.joints:
                k = unknowns.joints.index(signal.model_joint)
                offsets[column] = theta[unknowns.offsets()][k]
                sigmas[column] = deviations[unknowns.offsets()][k]
                plays[column] = theta[unknowns.plays()][k]
    return offsets, sigmas, plays
