"""The sealed part of a capture. Only store, split, evaluate and the pipeline may import this file."""

from dataclasses import dataclass

from gemel.artifacts.capture import Capture, EpisodeRecord, JointSignal
from gemel.artifacts.split import Role, Split


@dataclass(frozen=True, eq=False)
class HeldOutData:
    """The holdout episodes, as only `evaluate` receives them."""

    episodes: tuple[EpisodeRecord, ...]
    joints: tuple[JointSignal, ...] = ()
    action_names: tuple[str, ...] = ()
    action_units: tuple[str, ...] = ()

    @staticmethod
    def of(capture: Capture, split: Split) -> "HeldOutData":
        """The part of a capture that nothing has been fitted to."""
        held_out = set(split.episodes(Role.HOLDOUT))
        return HeldOutData(
            episodes=tuple(e for e in capture.episodes if e.id in held_out),
            joints=capture.joints,
            action_names=capture.action_names,
            action_units=capture.action_units,
        )


@dataclass(frozen=True)
class Opening:
    """One opening of a holdout, as the seal counted it."""

    split: str
    """Address of the split whose holdout was opened."""
    twin: str
    """Address of the twin that it was opened for."""
    of_twin: int
    """Which opening for this twin it is, from 1."""
    of_holdout: int
    """Which opening of any of these episodes for any twin it is, from 1."""
