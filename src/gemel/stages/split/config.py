"""Settings of the split stage."""

from dataclasses import dataclass
from typing import Literal

from gemel.errors import ConfigError


@dataclass(frozen=True)
class SplitConfig:
    """Who is kept apart from whom, and how much is held out."""

    by: Literal["episode", "object", "initial-condition", "camera-path"] = "episode"
    """What must not be shared between roles: single episodes, objects, initial conditions or camera paths."""
    validation: float = 0.2
    """Part of the task episodes for validation."""
    holdout: float = 0.2
    """Part of the task episodes that is sealed until `gemel evaluate`."""
    same_start: Literal["together", "separate"] = "together"
    """Episodes with the same initial state share a role; `separate` declares them independent, on record."""
    holdout_episodes: tuple[str, ...] = ()
    """Hold out exactly these instead of drawing; refused if a copy of one has another role."""
    validation_episodes: tuple[str, ...] = ()
    """Validate on exactly these; only together with `holdout_episodes`."""
    joint_tolerance: float = 0.005
    """Initial joint positions closer than this are the same [rad or m]."""
    image_tolerance: float = 6.0
    """First frames whose cell averages differ by less than this everywhere are the same [grey levels of 255]."""
    nearness: float = 3.0
    """With by = initial-condition: tolerances are this many times wider."""
    path_tolerance: float = 0.05
    """With by = camera-path: paths closer than this (root mean square) are the same [rad or m]."""

    def __post_init__(self) -> None:
        if not (self.validation >= 0 and self.holdout >= 0 and self.validation + self.holdout < 1):
            raise ConfigError(
                f"[split] validation = {self.validation} and holdout = {self.holdout} leave nothing to calibrate on.",
                remedy="give two parts that are not negative and sum to less than one",
            )
        if self.validation_episodes and not self.holdout_episodes:
            raise ConfigError(
                "[split] names validation_episodes without holdout_episodes.", remedy="name both, or neither"
            )
