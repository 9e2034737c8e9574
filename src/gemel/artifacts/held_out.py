"""The sealed part of a capture. Only store, split, evaluate and the pipeline may import this file."""

from dataclasses import dataclass

from gemel.artifacts.capture import Capture, EpisodeRecord
from gemel.artifacts.split import Role, Split


@dataclass(frozen=True, eq=False)
class HeldOutData:
    """The holdout episodes, as only `evaluate` receives them."""

    episodes: tuple[EpisodeRecord, ...]

    @staticmethod
    def of(capture: Capture, split: Split) -> "HeldOutData":
        """The part of a capture that nothing has been fitted to."""
        held_out = set(split.episodes(Role.HOLDOUT))
        return HeldOutData(tuple(e for e in capture.episodes if e.id in held_out))
