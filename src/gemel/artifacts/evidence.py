"""Claims about a twin or a policy, each with its interval and what it rests on."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

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


@dataclass(frozen=True)
class Failure:
    """One failed episode and the experiment that says why."""

    episode: str
    label: FailureLabel
    experiment: str
    """The ablation that separated this cause from the others, with its result."""


@dataclass(frozen=True)
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
