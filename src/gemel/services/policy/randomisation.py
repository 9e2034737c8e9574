"""What is drawn anew for every episode in a twin: physics from its belief, looks and sensors from their intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief
from gemel.artifacts.camera import Camera
from gemel.errors import ConfigError
from gemel.geometry import SE3

_LONGEST_DELAY_S = 1.0
"""Longer delays are a mistake of units: no robot is commanded through them [s]."""


@dataclass(frozen=True)
class Randomisation:
    """How much of each; `Randomisation.none()` makes every episode alike."""

    is_physics: bool = True
    """Whether each episode has its own draw of the belief, instead of all its mean."""
    camera_sigmas: float = 1.0
    """Camera poses and clocks are off by so many of their own standard deviations."""
    light: float = 0.10
    """Standard deviation of log brightness, of all cameras together: they look at one scene."""
    colour: float = 0.03
    """Standard deviation of log brightness in each channel of each camera besides."""
    pixel_noise: float = 0.01
    """Standard deviation of the noise of each pixel, 0 to 1."""
    joint_noise_rad: float = 0.0005
    """Standard deviation of joint readings [rad or m]."""
    delay_s: float = 0.02
    """Commands of servos whose delay is not in the belief arrive up to so much late [s]."""
    object_noise_m: float = 0.0008
    """Standard deviation of x and y of the observed object [m], about what the tracker has."""
    object_noise_rad: float = 0.006
    """Standard deviation of its yaw [rad]."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name == "is_physics":
                continue
            highest = _LONGEST_DELAY_S if name == "delay_s" else math.inf
            if not (isinstance(value, int | float | np.number) and 0.0 <= value <= highest and math.isfinite(value)):
                raise ConfigError(
                    f"{name} of the randomisation is {value!r}; a finite number from 0 on was expected"
                    + (f", at most {highest:g}." if math.isfinite(highest) else "."),
                    remedy="give 0 to leave it out; noise is in rad, m or parts of 1, delays are in seconds",
                )

    @staticmethod
    def none() -> "Randomisation":
        """No randomisation at all."""
        return Randomisation(False, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def checked_randomisation(given: object) -> Randomisation:
    """What was given, the default where that is None; anything else is refused."""
    if given is None:
        return Randomisation()
    if not isinstance(given, Randomisation):
        raise ConfigError(
            f"randomisation is {given!r}; a `Randomisation` was expected.",
            remedy="give Randomisation(), Randomisation.none() or one with some of its fields changed",
        )
    return given


@dataclass(frozen=True, eq=False)
class CameraDraw:
    """One camera in one episode."""

    T_true_camera: SE3
    """Where it is against where the twin believes it is, in its own frame."""
    time_offset_s: float
    gain: tuple[float, float, float]

    @staticmethod
    def none() -> "CameraDraw":
        """A camera that is where and as it is believed to be, and not late."""
        return CameraDraw(SE3.identity(), 0.0, (1.0, 1.0, 1.0))


def draw_cameras(
    cameras: Sequence[Camera], randomisation: Randomisation, rng: np.random.Generator
) -> tuple[CameraDraw, ...]:
    """Cameras as ones that their calibrations allow, in one light."""
    light = randomisation.light * rng.standard_normal()
    return tuple(_draw_camera(camera, randomisation, light, rng) for camera in cameras)


def _draw_camera(camera: Camera, randomisation: Randomisation, light: float, rng: np.random.Generator) -> CameraDraw:
    scale = randomisation.camera_sigmas
    sigmas = np.repeat([camera.translation_sigma_m or 0.0, camera.rotation_sigma_rad or 0.0], 3)
    offset_s = camera.time_offset_s + scale * (camera.time_offset_sigma_s or 0.0) * rng.standard_normal()
    red, green, blue = np.exp(light + randomisation.colour * rng.standard_normal(3)).tolist()
    return CameraDraw(SE3.exp(scale * sigmas * rng.standard_normal(6)), float(offset_s), (red, green, blue))


def draw_physics(belief: Belief, count: int, rng: np.random.Generator) -> Float[np.ndarray, "n parameter"]:
    """Samples of a belief, by its weights."""
    return belief.samples[rng.choice(len(belief.samples), size=count, p=belief.weights)]


def mean_physics(belief: Belief, count: int, rng: np.random.Generator) -> Float[np.ndarray, "n parameter"]:
    """The belief's weighted mean instead of draws, so many times."""
    del rng  # nothing is drawn
    return np.repeat(belief.mean[None], count, axis=0)
