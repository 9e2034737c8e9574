"""Recordings of stand-in worlds for benchmarks: found in a folder or recorded there, and taken in as a user would."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gemel.artifacts.capture import Capture
from gemel.artifacts.episode import Frames
from gemel.artifacts.segmentation import Segmentation
from gemel.artifacts.split import FitData, Split
from gemel.services.engine import LocalEngine
from gemel.services.formats.mask_tracks import MaskReader
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.worlds.imperfections import Imperfections
from gemel.worlds.truth import Truth, read_truth, truth_folder

if TYPE_CHECKING:
    from gemel.project import Project
    from gemel.running import Run, StageResult

OBJECTS = ("t-block", "hammer", "cube", "mug", "ring", "bracket")


@dataclass(frozen=True)
class Scan:
    """Which scan of a stand-in world."""

    object: str
    seed: int
    size: tuple[int, int] = (160, 120)
    has_sensor: bool = True
    """Whether the cameras have blur, noise, vignetting and a rolling shutter."""
    has_plain_table: bool = False

    @property
    def name(self) -> str:
        """Folder of the recording."""
        kind = ("" if self.has_sensor else "-clean") + ("-plain" if self.has_plain_table else "")
        return f"{self.object}-{self.seed}-{self.size[0]}x{self.size[1]}{kind}"


def record_scans(scans: Sequence[Scan], folder: Path, *, workers: int = 0) -> None:
    """Record those that are not there yet, side by side, one core each; `workers` 0 means all cores."""
    missing = [(scan, str(folder)) for scan in scans if not is_recorded(folder / scan.name)]
    if missing:
        LocalEngine().map(_record, missing, workers=workers)


def is_recorded(target: Path) -> bool:
    """Whether a recording is there, whole: its truth is sealed last."""
    return (truth_folder(target) / "truth.json").exists()


def cleared(target: Path) -> Path:
    """The folder of a recording, without what a broken attempt left there."""
    for left_over in (target, truth_folder(target)):
        shutil.rmtree(left_over, ignore_errors=True)
    return target


def _record(job: tuple[Scan, str]) -> None:
    from gemel.worlds.record import RecordPlan, record_world
    from gemel.worlds.scenario import WorldConfig

    scan, folder = job
    target = cleared(Path(folder) / scan.name)
    config = WorldConfig(
        "scan", seed=scan.seed, object=scan.object, size=scan.size, plain_table=scan.has_plain_table,
        imperfections=Imperfections() if scan.has_sensor else _without_sensor(),
    )  # fmt: skip
    record_world(config, target, RecordPlan(episodes=1, workers=1))


def _without_sensor() -> Imperfections:
    return Imperfections(exposure_s=0.0, rolling_shutter_s=0.0, vignetting=0.0, shot_noise=0.0, read_noise=0.0)


@dataclass(frozen=True, eq=False)
class Taken:
    """A recording after ingest, split and segment, with its truth."""

    fit: FitData
    frames: Frames
    masks: MaskReader | None
    robot: Any
    """The compiled robot model."""
    robot_file: Path
    truth: Truth
    segment_s: float


@contextmanager
def taken_in(recording: Path, *, seed: int, last: str = "segment") -> Iterator[Taken]:
    """Run the first stages on a recording in a scratch project."""
    from gemel.project import CaptureSettings, Project, Settings

    with tempfile.TemporaryDirectory(prefix="gemel-bench-") as scratch:
        project = Project(Path(scratch), Settings(CaptureSettings(str(recording.resolve())), seed=seed))
        with ran(project, last) as (run, results):
            capture = run.get("ingest", Capture)
            assert capture.robot is not None
            yield Taken(
                fit=FitData.of(capture, run.get("split", Split)),
                frames=run.frames(capture, "reconstruct", "0" * 64),
                masks=MaskReader(run.get("segment", Segmentation), run.store) if last == "segment" else None,
                robot=compile_stored_robot(capture.robot, run.store),
                robot_file=recording / "meta" / "robot.xml",
                truth=read_truth(truth_folder(recording)),
                segment_s=results[-1].duration_s,
            )


@contextmanager
def ran(project: "Project", last: str) -> "Iterator[tuple[Run, list[StageResult]]]":
    """A project run up to a stage, without a word; its store is open meanwhile."""
    from gemel.pipeline import run_project
    from gemel.running import Run
    from gemel.store.store import Store

    results = run_project(project, Silent(), last=last)
    store = Store.open(project.store_folder)
    try:
        yield Run(project, store, {result.name: result.address for result in results}), results
    finally:
        store.close()


def keep_to_two_cores() -> None:
    """Pin this process to two cores of its own, where there are enough: so times are those of a laptop."""
    import os

    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 2:
        first = 2 * (os.getpid() % (len(cores) // 2))
        os.sched_setaffinity(0, cores[first : first + 2])


class Silent:
    """A reporter that says nothing."""

    @contextmanager
    def stage(self, name: str) -> Iterator[Any]:
        """Progress that goes nowhere."""
        yield lambda fraction: None

    def done(self, result: Any) -> None:
        """Nothing to show."""
