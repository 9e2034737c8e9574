"""Settings of the identify stage; the docstrings are the help of the command line."""

from dataclasses import dataclass

from gemel.errors import ConfigError, choices_text

PUSH_WORTH = 0.15
"""Seven pushes count as one independent number per component: what a nominal scene misses (uneven friction, how weight
is spread over the bottom, play) is much the same in all of them. Chosen on push-t worlds of seeds 0-9 and 100-111."""
METHODS = ("eki", "svgd", "npe", "gauss_newton")


@dataclass(frozen=True)
class IdentifyConfig:
    """How physical parameters are inferred from tracks."""

    method: str = "eki"
    """`eki`: ensemble Kalman inversion, corrected by an emulator (default). `svgd`: Stein particles. `npe`: neural
    posterior. `gauss_newton`: least squares and a linearised interval, for smooth problems."""
    ensemble: int = 0
    """Simulations per round; 0 chooses by the number of parameters."""
    kalman_steps: int = 4
    """Most steps of the ensemble Kalman update on the way from prior to posterior."""
    refinements: int = 4
    """Most rounds in which the emulator asks for simulations where the posterior lies."""
    worth: float = 200.0
    """Independent posterior draws that the true simulations at the end have to be worth."""
    generations: int = 40
    """Most generations of true simulations at the end."""
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
        if self.draws < 100 or self.kalman_steps < 1 or self.refinements < 0 or self.ensemble < 0:
            raise ConfigError(
                "identify needs draws >= 100, kalman_steps >= 1, refinements >= 0 and ensemble >= 0.",
                remedy="leave these settings out to get the defaults",
            )
