"""Settings of the prior stage: `[prior]`, and what `[objects]`, `[surfaces]` and `[measured]` say of matter."""

import math
from dataclasses import dataclass, field
from typing import Literal

from gemel.errors import ConfigError, choices_text

ENDS = ("+x", "-x", "+y", "-y", "+z", "-z")
Kind = Literal["materials", "vlm", "geometry", "file", "flat"]


@dataclass(frozen=True)
class Measurement:
    """What was read off a scale, callipers or a tilted board: one or several readings and their margin."""

    readings: tuple[float, ...] = ()
    """In the parameter's unit (kg, m, none)."""
    margin: float = 0.0
    """What a reading may be off, besides what the readings show; same unit."""
    readings_deg: tuple[float, ...] = ()
    """For friction: the angles at which the object slides down a tilted board at steady speed [deg]."""
    margin_deg: float = 0.0

    def __post_init__(self) -> None:
        if bool(self.readings) == bool(self.readings_deg):
            raise ConfigError(
                f"readings = {list(self.readings)} and readings_deg = {list(self.readings_deg)}: one of both was "
                "expected.",
                remedy="give the values in `readings`, or the angles of a tilt test in `readings_deg`",
            )
        if min(self.margin, self.margin_deg) < 0.0:
            raise ConfigError(f"margin = {min(self.margin, self.margin_deg)} is negative.", remedy="give 0 or more")
        if any(not 0.0 < angle < 63.5 for angle in self.readings_deg):
            raise ConfigError(
                f"readings_deg = {list(self.readings_deg)}: 0 to 63 degrees (friction 2) was expected.",
                remedy="give the board's angle from the horizontal",
            )
        if self.range[0] == self.range[1]:
            raise ConfigError(
                f"The only reading, {self.range[0]}, has no margin, so nothing says how sure it is.",
                remedy="give margin = what the instrument may be off, or several different readings",
            )

    @property
    def range(self) -> tuple[float, float]:
        """The residual range: smallest reading less the margin, largest reading plus the margin."""
        if self.readings_deg:
            low, high = min(self.readings_deg) - self.margin_deg, max(self.readings_deg) + self.margin_deg
            return math.tan(math.radians(low)), math.tan(math.radians(high))
        return min(self.readings) - self.margin, max(self.readings) + self.margin


@dataclass(frozen=True)
class Part:
    """An end of an object that is of another material than the rest."""

    material: str
    where: str
    """Which end: +x, -x, +y, -y, +z or -z of the object's frame (axes as the world's during the scan)."""
    share: float
    """Part of the object's length along that axis, measured from its end."""
    fill: tuple[float, ...] = ()
    """Part of its volume that the material fills: a number or [low, high]; empty: as usual for the material."""

    def __post_init__(self) -> None:
        if self.where not in ENDS:
            raise ConfigError(f"where {choices_text(self.where, ENDS)}", remedy='name an end such as "+y"')
        if not 0.0 < self.share < 1.0:
            raise ConfigError(
                f"share = {self.share} of part {self.material!r}: a number between 0 and 1 was expected.",
                remedy="give the part's length over the object's length along that axis",
            )
        _check_fill(self.fill)


@dataclass(frozen=True)
class Matter:
    """What an object is made of, as far as the user says."""

    material: str = ""
    """A name of the materials table (docs/prior.md); empty: unknown."""
    fill: tuple[float, ...] = ()
    """Part of the volume that the material fills: [low, high], or one number; empty: as usual for the material."""
    uneven: float | None = None
    """Part of the mass, on average, that may sit anywhere inside (a battery, a weight); 0: surely spread evenly.
    Without: a quarter of a labelled object, any part of an unknown one."""
    parts: tuple[Part, ...] = ()
    """Ends of other materials, all along one axis; several at one end are stacked from the end inwards."""

    def __post_init__(self) -> None:
        _check_fill(self.fill)
        if not 0.0 <= self.hidden_share <= 0.5:
            raise ConfigError(f"uneven = {self.uneven}: 0 to 0.5 was expected.", remedy="give a part of the mass")
        if len({part.where[1] for part in self.parts}) > 1:
            raise ConfigError(
                f"parts lie along several axes: {[part.where for part in self.parts]}.",
                remedy="describe the object along the one axis that matters most",
            )
        total = sum(part.share for part in self.parts)
        if total > 1.0:
            raise ConfigError(f"The shares of the parts sum to {total:.3g}.", remedy="let them sum to 1 at most")

    @property
    def hidden_share(self) -> float:
        """`uneven`, or what is assumed without it; one half stands for any part, all alike."""
        return self.uneven if self.uneven is not None else 0.25 if self.material else 0.5


@dataclass(frozen=True)
class Surface:
    """`[surfaces.NAME]`: something that objects touch, such as `table` or `pusher`."""

    material: str


@dataclass(frozen=True)
class VlmConfig:
    """`[prior.vlm]`: which vision-language model is asked, and how often. The key is in GEMEL_VLM_KEY, never here."""

    url: str = ""
    """Base address of an OpenAI-compatible server, such as http://localhost:8000/v1; or in GEMEL_VLM_URL."""
    model: str = ""
    """Name of the model; or in GEMEL_VLM_MODEL."""
    images: int = 5
    """Pictures of each object."""
    queries: int = 5
    """Times that each picture is asked about."""
    concurrency: int = 4
    """Requests at a time."""
    timeout_s: float = 60.0
    """For one answer [s]."""
    retries: int = 2
    """Further attempts after a time-out, a full server or a server error."""
    backoff_s: float = 1.0
    """Wait before the first further attempt [s]; doubles each time. A server's Retry-After counts instead."""

    def __post_init__(self) -> None:
        for name, least in (("images", 1), ("queries", 1), ("concurrency", 1), ("retries", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} = {getattr(self, name)} is too small.", remedy=f"give {least} or more")
        if not self.timeout_s > 0.0 or self.backoff_s < 0.0:
            raise ConfigError(
                f"timeout_s = {self.timeout_s}, backoff_s = {self.backoff_s}.", remedy="give times that are positive"
            )


@dataclass(frozen=True)
class PriorConfig:
    """What is believed before anything is touched."""

    kind: Kind = "materials"
    """`materials` (labels of twin.toml), `vlm` (a model that looks at pictures), `geometry` (uniform density), `file`
    (your own distributions) or `flat` (the task's ranges)."""
    samples: int = 1000
    """Draws of the belief."""
    file: str = ""
    """TOML file with your own distributions (docs/prior.md); with any kind it comes before all but measurements."""
    vlm: VlmConfig = field(default_factory=VlmConfig)
    objects: dict[str, Matter] = field(default_factory=dict)
    """What each object is made of; filled from `[objects.NAME]`."""
    surfaces: dict[str, Surface] = field(default_factory=dict)
    """What objects touch; filled from `[surfaces.NAME]`."""
    measured: dict[str, Measurement] = field(default_factory=dict)
    """Measurements by parameter; filled from `[measured]` and `[objects.NAME.measured]`."""

    def __post_init__(self) -> None:
        if not 50 <= self.samples <= 100_000:
            raise ConfigError(f"samples = {self.samples}.", remedy="give a number between 50 and 100000")
        if self.kind == "file" and not self.file:
            raise ConfigError('kind = "file" has no file.', remedy="give file = PATH under [prior]")


def _check_fill(fill: tuple[float, ...]) -> None:
    if len(fill) > 2 or any(not 0.0 < value <= 1.0 for value in fill) or (len(fill) == 2 and fill[0] > fill[1]):
        raise ConfigError(
            f"fill = {list(fill)}: [low, high] or one number, above 0 and at most 1, was expected.",
            remedy="give the part of the volume that is material",
        )
