"""Recordings of the push-t world with trials, reconstructed as a user would: found in a folder or made there.

The project of each recording stays beside it, so that only what changed runs again.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gemel.artifacts.capture import Capture
from gemel.artifacts.episode import Frames
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.segmentation import Segmentation
from gemel.artifacts.split import FitData, Split
from gemel.artifacts.track import Tracks
from gemel.benchmarks.recorded import cleared, is_recorded, ran
from gemel.services.formats.mask_tracks import MaskReader
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.stages.reconstruct.config import ReconstructConfig
from gemel.stages.split.config import SplitConfig
from gemel.worlds.truth import Truth, read_truth, truth_folder

if TYPE_CHECKING:
    from gemel.project import Project


@dataclass(frozen=True)
class Pushes:
    """Which recording of which push-t world."""

    seed: int
    episodes: int
    size: tuple[int, int] = (160, 120)
    seconds: float = 0.0
    """Longest episode [s]; 0 means what the world's operator takes."""

    @property
    def name(self) -> str:
        """Folder of the recording."""
        return f"push-t-{self.seed}-{self.size[0]}x{self.size[1]}"


@dataclass(frozen=True, eq=False)
class Prepared:
    """A recording after ingest, split, segment and reconstruct, with its truth. No episode is held out."""

    fit: FitData
    frames: Frames
    masks: MaskReader
    reconstruction: Reconstruction
    robot: Any
    """The compiled robot model."""
    truth: Truth
    tracks: Tracks | None = None
    """Where the stages up to track were asked for."""


def record_pushes(pushes: Sequence[Pushes], folder: Path, *, workers: int = 0) -> None:
    """Record those that are not there yet, one after the other; `workers` 0 means all cores for each."""
    from gemel.worlds.record import RecordPlan, record_world
    from gemel.worlds.scenario import WorldConfig

    for one in pushes:
        if not is_recorded(folder / one.name):
            config = WorldConfig("push-t", seed=one.seed, size=one.size)
            plan = RecordPlan(episodes=one.episodes, seconds=one.seconds, workers=workers)
            record_world(config, cleared(folder / one.name), plan)


@contextmanager
def prepared(recording: Path, *, seed: int, last: str = "reconstruct") -> Iterator[Prepared]:
    """Run the stages up to `last`, `reconstruct` or `track`, or find what they made."""
    with ran(project_of(recording, seed=seed), last) as (run, _):
        capture = run.get("ingest", Capture)
        assert capture.robot is not None
        yield Prepared(
            fit=FitData.of(capture, run.get("split", Split)),
            frames=run.frames(capture, "track", "0" * 64),
            masks=MaskReader(run.get("segment", Segmentation), run.store),
            reconstruction=run.get("reconstruct", Reconstruction),
            robot=compile_stored_robot(capture.robot, run.store),
            truth=read_truth(truth_folder(recording)),
            tracks=run.get("track", Tracks) if last == "track" else None,
        )


def project_of(recording: Path, *, seed: int, reconstruct: ReconstructConfig | None = None) -> "Project":
    """The project beside a recording."""
    from gemel.project import CaptureSettings, Project, Settings

    settings = Settings(
        CaptureSettings(str(recording.resolve())), seed=seed, split=SplitConfig(holdout=0.0),
        reconstruct=reconstruct or ReconstructConfig(),
    )  # fmt: skip
    project = Project(recording.with_name(recording.name + ".project"), settings)
    project.folder.mkdir(parents=True, exist_ok=True)
    return project
