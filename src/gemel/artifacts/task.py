"""The task contract: what is observed, what is commanded, what counts as done."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Quantity:
    """One named vector of an observation or an action."""

    name: str
    width: int
    unit: str
    low: float
    """Smallest allowed value, per element, in `unit`."""
    high: float
    """Largest allowed value, per element, in `unit`."""


@dataclass(frozen=True)
class Criterion:
    """A measured quantity and the bound that it has to keep."""

    quantity: str
    """Such as `object/position_error`."""
    unit: str
    bound: float
    """The criterion holds while the quantity is at most this."""
    hold_s: float = 0.0
    """For how long it has to hold [s]."""


@dataclass(frozen=True)
class Task:
    """One task as data; the numbers that a policy, a twin and an evaluation have to agree on."""

    name: str
    instruction: str
    """What a person, or a language-conditioned policy, is told."""
    control_period_s: float
    time_limit_s: float
    observation: tuple[Quantity, ...]
    action: tuple[Quantity, ...]
    goal: Mapping[str, float]
    """Goal values by name, SI units."""
    success: tuple[Criterion, ...]
    """All must hold for success."""
    failure: tuple[Criterion, ...]
    """Any that breaks ends the episode as a failure."""
    reward_weights: Mapping[str, float]
    """Weight of each reward term by its name."""
    events: tuple[str, ...]
    """Milestones in the order in which they should happen."""
    initial_conditions: Mapping[str, tuple[float, float]]
    """Range of each initial value by name, SI units."""
    objects: tuple[str, ...] = ()
    """Names of the objects that the task handles; their nominal models are in `services/tasks`."""
    parameter_ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Range of each unknown physical parameter, by the names that `Belief` uses, SI units."""
