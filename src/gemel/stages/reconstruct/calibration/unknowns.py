"""The unknowns of a robot with cameras, as one vector with a Gaussian prior.

Joint offsets and play, base poses, and for each camera its mounting, focal length and clock. Zero is what the lab
believes; every entry is in its own SI unit (metres, radians, seconds; focal lengths as a logarithm).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import Camera

TWIST = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class PriorConfig:
    """How far what the lab believes may be off where nothing says so: standard deviations."""

    joint_offset_rad: float = 0.010
    """Zero of a joint [rad]."""
    joint_play_rad: float = 0.0015
    """Half the play between a joint's encoder and its link [rad]."""
    base_position_m: float = 0.005
    """Place of the base on the table, x and y [m]."""
    base_height_m: float = 0.001
    """Height of the base over the table [m]; it is bolted down."""
    base_yaw_rad: float = 0.010
    """Heading of the base [rad]."""
    base_tilt_rad: float = 0.002
    """Tilt of the base against the table [rad]."""
    camera_position_m: float = 0.010
    """Mounting of a camera that brings no uncertainty of its own [m]."""
    camera_rotation_rad: float = 0.030
    """The same for its rotation [rad]."""
    focal_relative: float = 0.01
    """Focal length of a camera that brings no uncertainty, relative."""
    camera_time_s: float = 0.05
    """Offset between a camera's clock and the robot's [s]."""
    camera_readout_s: float = 0.010
    """Time from the first to the last row of an image [s]; rolling shutters need some, global ones none."""


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Names and prior of every entry of the vector."""

    joints: tuple[str, ...]
    """Joints whose zero is unknown."""
    bases: tuple[str, ...]
    """Root links."""
    cameras: tuple[str, ...]
    sigma: Float[np.ndarray, " p"]
    """Prior standard deviation of each entry."""

    @staticmethod
    def of(joints: Sequence[str], bases: Sequence[str], cameras: Sequence[Camera], prior: PriorConfig) -> "Unknowns":
        """The unknowns of a robot (hinge joints and roots by name) and its cameras."""
        base = [prior.base_position_m] * 2 + [prior.base_height_m] + [prior.base_tilt_rad] * 2 + [prior.base_yaw_rad]
        sigma = [prior.joint_offset_rad] * len(joints) + [prior.joint_play_rad] * len(joints) + base * len(bases)
        for camera in cameras:
            sigma += _camera_sigma(camera, prior)
        names = tuple(camera.name for camera in cameras)
        return Unknowns(tuple(joints), tuple(bases), names, np.array(sigma))

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each entry, such as `joint/joint1/offset` or `camera/front/rx`."""
        bases = [f"base/{name}/{axis}" for name in self.bases for axis in TWIST]
        cameras = [
            f"camera/{name}/{part}" for name in self.cameras for part in (*TWIST, "log_focal", "time", "readout")
        ]
        joints = [f"joint/{name}/{part}" for part in ("offset", "play") for name in self.joints]
        return (*joints, *bases, *cameras)

    def __len__(self) -> int:
        return len(self.sigma)

    def offsets(self) -> slice:
        """Where the joint offsets are [rad]."""
        return slice(0, len(self.joints))

    def plays(self) -> slice:
        """Where half the play of each joint is [rad]: the link trails the reading by so much when it moves."""
        return slice(len(self.joints), 2 * len(self.joints))

    def base(self, index: int) -> slice:
        """Where the twist of a base is: applied in the world's axes about the base's own origin."""
        start = 2 * len(self.joints) + 6 * index
        return slice(start, start + 6)

    def camera(self, name: str) -> slice:
        """Where the twist of a camera's mounting is, in the camera's own axes."""
        start = 2 * len(self.joints) + 6 * len(self.bases) + 9 * self.cameras.index(name)
        return slice(start, start + 6)

    def log_focal(self, name: str) -> int:
        """Where the logarithm of a camera's focal scale is."""
        return self.camera(name).stop

    def time(self, name: str) -> int:
        """Where a camera's time offset is [s], added to what the camera already claims."""
        return self.camera(name).stop + 1

    def readout(self, name: str) -> int:
        """Where the time from a camera's first to its last row is [s]; the stamp belongs to the middle row."""
        return self.camera(name).stop + 2


def _camera_sigma(camera: Camera, prior: PriorConfig) -> list[float]:
    position = camera.translation_sigma_m if camera.translation_sigma_m is not None else prior.camera_position_m
    rotation = camera.rotation_sigma_rad if camera.rotation_sigma_rad is not None else prior.camera_rotation_rad
    focal = prior.focal_relative
    if camera.focal_sigma_px is not None and camera.model is not None:
        focal = camera.focal_sigma_px / camera.model.fx
    time_s = camera.time_offset_sigma_s if camera.time_offset_sigma_s is not None else prior.camera_time_s
    return [position] * 3 + [rotation] * 3 + [focal, time_s, prior.camera_readout_s]
