"""Settings of the track stage."""

from dataclasses import dataclass
from typing import Literal

from gemel.errors import ConfigError


@dataclass(frozen=True)
class TrackConfig:
    """How objects are followed through episodes."""

    source: Literal["video", "mocap"] = "video"
    """`video` follows objects in the cameras' images; `mocap` takes the poses that the log brings."""
    mode: Literal["fast", "full"] = "fast"
    """`full` looks at every frame again, with its velocity known, and ends with gradients through the renderer."""
    splat_steps: int = 12
    """Steps of gradient descent through the renderer, in full mode."""
    episodes: tuple[str, ...] = ()
    """Follow objects in these episodes only; in all calibration and validation trials unless given."""
    every: int = 1
    """Look at every so many frames of the video: 2 halves the time, and objects move twice as far between looks."""
    has_moving_cameras: bool = False
    """Whether cameras on the robot are used although two or more stand still. They see the object from so near that
    errors of its shape outweigh what they add."""
    is_resting: bool = True
    """Whether an object near the table is softly held to lie there as it did in the scan (0.5 mm, 0.3 degrees)."""
    clock_jitter_s: float = 0.002
    """Standard deviation of when an image was really taken [s]."""
    acceleration: float = 0.05
    """Typical acceleration of an object while nothing happens to it [m/s²]; larger ones are expected now and then."""
    mocap_position_sigma_m: float = 0.001
    """Standard deviation of logged positions along each axis [m]."""
    mocap_rotation_sigma_rad: float = 0.005
    """Standard deviation of logged orientations about each axis [rad]."""

    def __post_init__(self) -> None:
        names = ("clock_jitter_s", "acceleration", "mocap_position_sigma_m", "mocap_rotation_sigma_rad", "splat_steps")
        for name in names:
            if not 0.0 < getattr(self, name) < float("inf"):
                raise ConfigError(
                    f"[track] {name} = {getattr(self, name)} is not positive.", remedy="give a positive one"
                )
        if self.every < 1:
            raise ConfigError(f"[track] every = {self.every} is less than 1.", remedy="give 1 for every frame")
