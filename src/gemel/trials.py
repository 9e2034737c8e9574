"""The calibration trials of a project, and where its robot waits for them."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gemel.artifacts.capture import Capture, EpisodeKind
from gemel.artifacts.episode import Episode
from gemel.artifacts.split import FitData, Split
from gemel.running import Run


def calibration_trials(run: Run, stage: str, key: str) -> tuple[Episode, ...]:
    """The numbers of all calibration trials, read for a stage whose work has that key."""
    capture = run.get("ingest", Capture)
    fit, frames = FitData.of(capture, run.get("split", Split)), run.frames(capture, stage, key)
    return tuple(frames.episode(record.id) for record in fit.calibration if record.kind is EpisodeKind.TASK)


def home_of(trials: Sequence[Episode]) -> Float[np.ndarray, " joint"] | None:
    """Median of the readings at which trials start; None without any."""
    starts = [trial.joint_positions[0] for trial in trials]
    return np.asarray(np.median(starts, axis=0)) if starts and len(starts[0]) else None
