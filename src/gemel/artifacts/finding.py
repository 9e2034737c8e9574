"""What an inspection found wrong, where, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters: an error stops ingest, a warning needs a look, a note is for the record."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One problem with its place and its remedy."""

    code: str
    """Stable short name, such as `video-too-short`; tests and scripts select by it."""
    severity: Severity
    message: str
    """What was found and what was expected."""
    remedy: str
    """What to do about it."""
    episode: str = ""
    """Episode id, or empty when the finding is about the whole source."""
    stream: str = ""
    """Joint, action or camera name, or a file."""
    time_s: float | None = None
    """Time from the start of the episode [s], where the problem has one."""
    value: float | None = None
    """The measured quantity behind the message, in the unit that the message states."""

    @property
    def place(self) -> str:
        """`episode 3 · wrist · 1.20 s`, as far as it is known."""
        parts = [f"episode {self.episode}" if self.episode else "", self.stream]
        parts.append("" if self.time_s is None else f"{self.time_s:.2f} s")
        return " · ".join(part for part in parts if part) or "whole source"
