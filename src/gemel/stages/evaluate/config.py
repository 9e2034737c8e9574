"""Settings of the evaluate stage."""

from dataclasses import dataclass, field
from typing import Literal

from gemel.errors import ConfigError
from gemel.stages.evaluate.bands import FEWEST_DRAWS


@dataclass(frozen=True)
class EvaluateConfig:
    """How the twin is compared with the holdout."""

    draws: int = 40
    """Draws of each belief that are replayed beside its mean; bands are made of them: at least 19."""
    actions: Literal["auto", "joints", "tool-steps", "none"] = "auto"
    """What recorded actions are: targets of the logged joints, steps of the tool [m] along the axes that their names
    end in (`_x`, `_y`, `_z`), or nothing that can be replayed. `auto` goes by names and units."""
    position_m: float = 0.01
    """An object whose position is off by more than this has been lost by the twin [m]."""
    rotation_deg: float = 10.0
    """So has one whose orientation is off by more than this [deg]."""
    confidence: float = 0.95
    """Of all intervals; they come from drawing episodes with replacement."""
    arms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Logged joints of each arm, by name; without any, they are told by where chains of logged joints branch."""
    weights: dict[str, float] = field(default_factory=dict)
    """Weight of logged joints in the joint error, 1 unless given; normalised to sum to one over an arm."""
    scales: dict[str, float] = field(default_factory=dict)
    """Deviation of logged joints that counts as one [rad or m]; the joint's range in the robot model unless given."""
    repeat_tolerance: float = 0.05
    """Two episodes with the same start repeat each other when their actions differ by less than this part of their
    spread (root mean square)."""

    def __post_init__(self) -> None:
        if self.draws < FEWEST_DRAWS or not 0.5 <= self.confidence < 1.0:
            raise ConfigError(
                f"[evaluate] draws = {self.draws} and confidence = {self.confidence}: at least "
                f"{FEWEST_DRAWS} draws, which bands of nine tenths need, and a confidence from 0.5 to below 1 "
                "were expected.",
                remedy="leave these settings out to get the defaults",
            )
        positive = {
            "position_m": self.position_m, "rotation_deg": self.rotation_deg, "repeat_tolerance": self.repeat_tolerance,
            **{f"weights.{name}": value for name, value in self.weights.items()},
            **{f"scales.{name}": value for name, value in self.scales.items()},
        }  # fmt: skip
        for name, value in positive.items():
            if not 0.0 < value < float("inf"):
                raise ConfigError(f"[evaluate] {name} = {value} is not positive.", remedy="give a positive number")
