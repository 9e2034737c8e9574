"""Claims about a twin or a policy, each with its interval and what it rests on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from jaxtyping import Float

from gemel.artifacts.capture import Domain


class FailureLabel(StrEnum):
    """Why twin and robot disagreed, told apart by experiment (Section 13.5)."""

    RECONSTRUCTION = "reconstruction"
    RESIDUAL_RANGE = "residual range"
    PHYSICS = "physics"
    PERCEPTION = "perception"
    POLICY = "policy"


@dataclass(frozen=True)
class Claim:
    """One number with its uncertainty."""

    name: str
    unit: str
    estimate: float
    """Infinite for a ratio over nothing; not a number where it is nothing over nothing."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval."""
    confidence: float
    """Nominal coverage of the interval, such as 0.95."""
    n: int
    """Number of independent trials."""
    domains: tuple[Domain, ...]
    """Which sides were compared."""
    subject: str = ""
    """What it is about: an object, an arm, or `all` for the arms together."""
    physics: str = ""
    """Whose physics: `posterior`, `prior` or `nominal`; `posterior/nominal` for a ratio; empty without a twin."""
    drive: str = ""
    """What led the robot: `actions` or `logged` (its own path); empty where nothing was simulated."""
    note: str = ""
    """What has to be known to read this number: pairs that were censored, resamples that were left out."""


@dataclass(frozen=True)
class Following:
    """For how long one object was followed in one held-out episode."""

    episode: str
    subject: str
    physics: str
    drive: str
    since_motion_s: float
    """From the object's first motion in the record [s]."""
    since_start_s: float
    """From the first frame [s]."""
    is_censored: bool
    """Whether the record ended first: the twin would have followed longer."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One error over time in one held-out episode."""

    episode: str
    subject: str
    """An object, an arm, or `all` for the arms together."""
    quantity: str
    """`position`, `orientation`, `joints`, `tool_position` or `tool_orientation`."""
    unit: str
    physics: str
    """`posterior`, `prior` or `nominal`; `repeat` for a second real episode instead of the twin."""
    drive: str
    """What led the robot: `actions` or `logged`; empty for a repeat."""
    times_s: Float[np.ndarray, " t"]
    errors: Float[np.ndarray, " t"]
    """Of the belief's mean."""
    low: Float[np.ndarray, " t"] | None = None
    """Lower end of what nine in ten draws of the belief give; None where none were simulated."""
    high: Float[np.ndarray, " t"] | None = None
    """Upper end of the same."""


@dataclass(frozen=True)
class Range:
    """What one physics holds of one parameter: median and the interval of nine tenths of the weight."""

    parameter: str
    unit: str
    physics: str
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Failure:
    """One failed episode and the experiment that says why."""

    episode: str
    label: FailureLabel
    experiment: str
    """The ablation that separated this cause from the others, with its result."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What one opening of the holdout showed."""

    claims: tuple[Claim, ...]
    failures: tuple[Failure, ...]
    holdout: str
    """Address of the split whose holdout was opened."""
    opening: int
    """How many times this holdout has been opened for this twin, this one included."""
    lineage: Mapping[str, str]
    """Addresses of the artifacts behind the claims, by name."""
    episodes: tuple[str, ...] = ()
    """The held-out episodes that were compared."""
    openings_of_holdout: int = 0
    """How many times this holdout has been opened for any twin, this one included: each may have taught somebody."""
    within_m: float = 0.01
    """An object that is off by more has been lost by the twin [m]."""
    within_deg: float = 10.0
    """So has one whose orientation is off by more [deg]."""
    curves: tuple[Curve, ...] = ()
    ranges: tuple[Range, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    """w of each joint in the normalised joint error; they sum to one over an arm."""
    scales: Mapping[str, float] = field(default_factory=dict)
    """Deviation of each joint that counts as one [rad or m]."""
    notes: tuple[str, ...] = ()
    """What has to be known to read the claims: what was absent, censored or assumed."""
    followings: tuple[Following, ...] = ()
    """How long each object was followed, episode by episode."""
    cautions: tuple[str, ...] = ()
    """What the claims do not show, and what in them is not to be trusted."""

    def claim(self, name: str, *, subject: str = "", physics: str = "", drive: str = "") -> Claim | None:
        """The claim of that name about that subject, if it was made."""
        wanted = (name, subject, physics, drive)
        return next((c for c in self.claims if (c.name, c.subject, c.physics, c.drive) == wanted), None)
