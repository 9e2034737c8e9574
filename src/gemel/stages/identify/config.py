"""Settings of the identify stage; the docstrings are the help of the command line."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gemel.errors import ConfigError, choices_text
from gemel.stages.identify.track_frame import FrameDoubt

PUSH_WORTH = 0.3
"""Three pushes count as one independent number per component of the pose: part of what a nominal scene misses is the
same in all of them. Chosen on push-t worlds of seeds 0-10: with 0.5, 7 of 9 intervals of 90 % held the truth."""
_FEW = 4
"""Up to so many parameters a few thousand true simulations say what the posterior is."""
PIXEL_WORTH = 0.15
"""Independent images that all images of a piece of motion count as; as for tracks when the refinement was made."""
METHODS = ("auto", "population", "eki", "svgd", "npe", "gauss_newton")
DERIVATIVES = ("differences", "mjx")


@dataclass(frozen=True)
class IdentifyConfig:
    """How physical parameters are inferred from tracks."""

    method: str = "auto"
    """`auto`: `eki`; `population` where a round has too few simulations for so many parameters. `eki`: ensemble Kalman
    inversion, corrected by an emulator. `population`: true simulations alone, weighed and drawn anew where they fit.
    `svgd`: Stein particles. `npe`: neural posterior. `gauss_newton`: least squares and a linearised interval, for
    smooth problems."""
    ensemble: int = 0
    """Simulations per round; 0 chooses by the number of parameters."""
    kalman_steps: int = 4
    """Most steps of the ensemble Kalman update on the way from prior to posterior."""
    starts: int = 1
    """Searches from the prior, each with an ensemble of its own; the one that explains the data best goes on. More than
    one where the data has several valleys, as that of servos with dry friction."""
    refinements: int = 4
    """Most rounds in which the emulator asks for simulations where the posterior lies."""
    worth: float = 200.0
    """Independent posterior draws that the true simulations at the end have to be worth."""
    rounds: int = 8
    """Most rounds of `population` after the first, which is twice as large."""
    least_worth: float = 40.0
    """Independent draws that `population` has to be worth; its likelihood is tempered until it is."""
    generations: int = 40
    """Most rounds of true simulations at the end, where parameters are few; 0 leaves the emulator's draws."""
    draws: int = 2000
    """Samples of the posterior."""
    credible_level: float = 0.95
    """Share of the posterior that the residual ranges hold."""

    longest_s: float = 1.0
    """Longest piece of a motion that is simulated in one go [s]."""
    model_error: float = 0.03
    """Part of the way that any model is expected to miss; the true level is inferred."""

    push_worth: float = PUSH_WORTH
    """How many independent numbers each piece of motion counts as, per component of the pose. 1 where the model is as
    good as the track; far less where it is known to lack something."""

    frame_m: float = 0.0015
    """Standard deviation of what calibration leaves between the frames of track and robot, along x and y [m]. It is
    inferred along with physics and then left out; 0 takes both frames for one, as with `frame_rad` and `frame_s`."""
    frame_rad: float = 0.003
    """The same about the vertical [rad]."""
    frame_s: float = 0.004
    """The same between the clocks of cameras and robot [s]."""

    is_pixel_refined: bool = False
    """Whether a last step looks at the frames themselves: simulations are drawn, compared with the images, and
    corrected where the images ask for it (docs/pixels.md)."""
    pixel_frames: int = 6
    """Most frames of each piece of motion that this step looks at."""
    pixel_worth: float = PIXEL_WORTH
    """How many independent images each piece of motion counts as in this step."""
    derivatives: Literal["differences", "mjx"] = "differences"
    """Slopes for `gauss_newton`: finite differences of rollouts, or MuJoCo's own derivatives in MJX, for problems that
    offer them (robot parameters without contact; extra `mjx`)."""

    actions: Literal["auto", "joints", "tool-steps", "none"] = "auto"
    """What recorded actions are, as under `[evaluate]`, whose setting holds here too: trials tell how late they take
    effect."""
    arms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Logged joints of each arm, as under `[evaluate]`, whose setting holds here too."""

    @property
    def frame_doubt(self) -> FrameDoubt:
        """What calibration leaves."""
        return FrameDoubt(self.frame_m, self.frame_rad, self.frame_s)

    def ensemble_size(self, parameters: int) -> int:
        """Simulations per round."""
        return self.ensemble or int(np.clip(24 * parameters, 48, 160))

    def is_sharpened(self, parameters: int) -> bool:
        """Whether the last draws are true simulations and not the emulator's."""
        return parameters <= _FEW and self.generations > 0

    def most_rollouts(self, parameters: int) -> int:
        """How many simulations `population`, or else `eki`, makes at most."""
        if self.method == "population":
            return self.ensemble_size(parameters) * (2 + self.rounds)
        last = self.generations if self.is_sharpened(parameters) else 0
        return self.ensemble_size(parameters) * (self.starts * self.kalman_steps + self.refinements + last)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigError(f"Method {choices_text(self.method, METHODS)}", remedy="use one of the choices")
        if not 0.5 <= self.credible_level < 1.0:
            raise ConfigError(
                f"credible_level is {self.credible_level}; a number from 0.5 to below 1 was expected.",
                remedy="give 0.95 for ranges that hold 95 % of the posterior",
            )
        if not 0.0 < self.push_worth <= 10.0 or self.longest_s <= 0.0 or self.model_error < 0.0:
            raise ConfigError(
                f"push_worth is {self.push_worth}, longest_s {self.longest_s} and model_error {self.model_error}; "
                "positive numbers were expected, push_worth at most 10.",
                remedy="leave these settings out to get the defaults",
            )
        if min(self.frame_m, self.frame_rad, self.frame_s) < 0.0:
            raise ConfigError(
                f"frame_m is {self.frame_m}, frame_rad {self.frame_rad} and frame_s {self.frame_s}; zero or positive "
                "numbers were expected.",
                remedy="leave these settings out to get the defaults",
            )
        if self.derivatives not in DERIVATIVES:
            raise ConfigError(
                f"derivatives {choices_text(self.derivatives, DERIVATIVES)}", remedy="use one of the choices"
            )
        if self.pixel_frames < 1 or not 0.0 < self.pixel_worth <= 100.0:
            raise ConfigError(
                f"pixel_frames is {self.pixel_frames} and pixel_worth {self.pixel_worth}; at least 1, and a positive "
                "number up to 100, were expected.",
                remedy="leave these settings out to get the defaults",
            )
        least = min(self.refinements, self.ensemble, self.generations)
        if self.draws < 100 or min(self.kalman_steps, self.starts) < 1 or least < 0 or self.worth < 1.0:
            raise ConfigError(
                "identify needs draws >= 100, kalman_steps, starts and worth >= 1, and refinements, ensemble and "
                "generations >= 0.",
                remedy="leave these settings out to get the defaults",
            )
