"""Small recordings of stand-in worlds, for the tests that read them."""

from dataclasses import dataclass
from pathlib import Path

from gemel.worlds.record import RecordPlan, record_world
from gemel.worlds.scenario import WorldConfig
from gemel.worlds.truth import Truth, read_truth


@dataclass(frozen=True)
class Recorded:
    """A recording and its truth."""

    folder: Path
    truth: Truth


def record(folder: Path, *, seed: int, workers: int) -> Recorded:
    """Two short episodes and a scan of the T-block's world."""
    config = WorldConfig("push-t", seed=seed, size=(32, 24), sample_count=2)
    sealed = record_world(config, folder, RecordPlan(episodes=2, seconds=1.2, workers=workers))
    return Recorded(folder, read_truth(sealed))
