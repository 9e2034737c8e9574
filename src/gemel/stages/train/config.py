"""Settings of the train stage."""

import math
from dataclasses import dataclass, fields

from gemel.errors import ConfigError, choices_text
from gemel.services.policy.features import WIDEST_COM_M
from gemel.stages.train.variants import VARIANTS


@dataclass(frozen=True)
class TrainConfig:
    """How policies are trained. Every agent has its own worlds, networks and budget; all share one simulation."""

    variants: tuple[str, ...] = ("privileged",)
    """What policies are told: privileged, noise_trained, randomised, randomised_history."""
    conditioned_on: tuple[str, ...] = ()
    """Physical parameters that conditioned policies are told; empty means the task's first one."""
    seeds: int = 1
    """Agents of each variant, which differ only in their random numbers."""
    first_seed: int = 0
    """Seed of the first of them."""
    steps: int = 8_000_000
    """Control steps of each agent."""
    worlds: int = 0
    """Simulations of each agent; 0 means 512 on the processor and 2,048 on a GPU."""
    rollout: int = 0
    """Control steps between two updates; 0 means 24 on the processor and 16 on a GPU."""
    hidden: tuple[int, ...] = (128, 128)
    """Widths of the hidden layers of policy and critic."""
    anywhere: float = 0.3
    """Share of episodes that start anywhere: object and tip all over the table, and not only where the task has them.
    Without them a policy never sees what it is worth to walk around the object, and stops where it would have to."""
    discount: float = 0.985
    """Worth of a reward one control step later."""
    trace: float = 0.95
    """Lambda of generalised advantage estimation."""
    learning_rate: float = 1e-3
    """To begin with; it adapts so that an update changes the policy by about `change`."""
    change: float = 0.01
    """Kullback-Leibler divergence that an update aims at."""
    entropy: float = 0.005
    """Worth of trying things."""
    first_sigma: float = 0.6
    """Standard deviation of actions to begin with, in units of the largest action."""
    least_sigma: float = 0.3
    """Exploration does not get smaller than this while a policy learns what to do. When it does, policies settle where
    walking around the object is not tried any more; and steps that change the policy by `change` become tiny."""
    last_sigma: float = 0.1
    """Towards the end exploration may shrink to this: a millimetre cannot be learnt with a hand that shakes."""
    settling: float = 0.4
    """Last part of a training, over which that bound falls evenly."""
    epochs: int = 5
    """Passes over each batch."""
    batches: int = 4
    """Parts of each batch, one gradient step each."""
    pose_noise_m: float = 0.0008
    """Standard deviation of tracked object positions [m]; the tracker's own, by `gemel bench track`."""
    pose_noise_rad: float = 0.007
    """Standard deviation of tracked object angles [rad]."""
    tip_offset_m: float = 0.006
    """Standard deviation of the constant error of the tip against the tracked object [m]: an uncalibrated arm."""
    delay_spread_s: float = 0.02
    """Commands arrive as late as in the scene, give or take this [s]; even, drawn for each episode."""
    told_sigma: float = WIDEST_COM_M
    """Largest standard deviation of a centre of mass that noise_trained is told [m]; for other parameters the same part
    of their range as this is of 11 cm."""
    save_every: int = 20
    """Updates between two states on disk, from which a training that was cut off goes on."""

    def least_sigma_at(self, part: float) -> float:
        """Bound of exploration when `part` of the training is done."""
        begun = 1.0 - self.settling
        settled = min(1.0, max(0.0, part - begun) / self.settling) if self.settling else 0.0
        return self.least_sigma + settled * (min(self.last_sigma, self.least_sigma) - self.least_sigma)

    def __post_init__(self) -> None:
        for name in self.variants:
            if name not in VARIANTS:
                raise ConfigError(f"Variant {choices_text(name, tuple(VARIANTS))}", remedy="use one of the choices")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and not (math.isfinite(value) and value >= 0):
                raise ConfigError(
                    f"[train] {field.name} = {value}; zero or a positive number was expected.", remedy="correct it"
                )
        if not (self.variants and self.seeds >= 1 and self.epochs >= 1 and self.batches >= 1 and self.save_every >= 1):
            raise ConfigError(
                "[train] has no variants, or seeds, epochs, batches or save_every below 1.", remedy="give at least one"
            )
        if not (0.0 < self.discount < 1.0 and 0.0 <= self.trace <= 1.0):
            raise ConfigError(
                f"[train] discount = {self.discount} and trace = {self.trace} have to be between 0 and 1.",
                remedy="give parts of one",
            )
