"""Whether a live twin can take in what a robot's driver hands over; asked before anything is kept of it."""

from collections.abc import Sequence

import numpy as np

from gemel.artifacts.camera import Camera
from gemel.errors import ConfigError
from gemel.services.policy.robot import Observation


def check_observation(observation: Observation, joint_count: int, cameras: Sequence[Camera]) -> None:
    """Refuse times and readings that are no numbers, other joints than logged ones, and images of other cameras."""
    if not np.isfinite(observation.time_s):
        raise ConfigError(
            f"An observation came at the time {observation.time_s}; a number of seconds was expected.",
            remedy="give the time since the episode's start by the robot's clock",
        )
    readings = np.asarray(observation.joint_positions)
    if readings.shape != (joint_count,) or not np.all(np.isfinite(readings)):
        raise ConfigError(
            f"The observation has joint positions {readings.tolist()}; {joint_count} numbers were expected, one for "
            "each logged joint.",
            remedy="give the encoders' readings in the order of the log, none for a twin without joints",
        )
    missing = [camera.name for camera in cameras if camera.name not in observation.images]
    if missing:
        raise ConfigError(
            f"The observation has images of {sorted(observation.images)}; {missing} are missing.",
            remedy="give the newest image of every camera that the twin was calibrated with",
        )
    for camera in cameras:
        image = observation.images[camera.name]
        if image.shape != (camera.height, camera.width, 3) or image.dtype != np.uint8:
            raise ConfigError(
                f"The image of {camera.name!r} is {image.dtype} of shape {image.shape}; uint8 of shape "
                f"{(camera.height, camera.width, 3)} was expected.",
                remedy="give RGB frames as the camera was calibrated with, neither scaled nor cropped",
            )
