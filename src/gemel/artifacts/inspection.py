"""What is in a log and what is wrong with it."""

from dataclasses import dataclass

from gemel.artifacts.finding import Finding, Severity


@dataclass(frozen=True)
class EpisodeSummary:
    """One row of the inspection table."""

    id: str
    task: str
    kind: str
    step_count: int
    duration_s: float
    motion: float
    """Path length of all joints together, in logged units."""


@dataclass(frozen=True)
class StreamSummary:
    """One stream: a joint group, an action or a camera."""

    name: str
    kind: str
    """`joints`, `actions`, `camera` or `extra`."""
    shape: str
    rate_hz: float
    jitter_s: float
    detail: str
    """Codec, unit guess and the like."""


@dataclass(frozen=True)
class Estimate:
    """One number that was read off the log, with what it rests on."""

    name: str
    stream: str
    value_s: float
    sigma_s: float
    """Standard deviation over the windows that gave an answer [s]; NaN with fewer than two."""
    window_count: int


@dataclass(frozen=True)
class UnitGuess:
    """What unit a joint seems to be logged in, and why. It is only used once confirmed."""

    joint: str
    unit: str
    evidence: tuple[str, ...]
    is_declared: bool
    """True when the source itself states the unit."""


@dataclass(frozen=True)
class Inspection:
    """The result of `gemel inspect`."""

    source: str
    format: str
    robot_type: str
    episodes: tuple[EpisodeSummary, ...]
    streams: tuple[StreamSummary, ...]
    units: tuple[UnitGuess, ...]
    estimates: tuple[Estimate, ...]
    findings: tuple[Finding, ...]
    decoded_frame_count: int
    """How many frames were decoded for the image checks."""

    @property
    def has_errors(self) -> bool:
        """Whether ingest would refuse this source."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)
