"""One project being run: caching by hash, resume, progress and provenance, once for all stages.

A stage runs when its inputs, settings, code or seed changed, and is taken from the store otherwise; a run that was cut
off continues with what is missing. Which stages there are is written in pipeline.py.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

from gemel.artifacts.capture import Capture
from gemel.artifacts.episode import Frames
from gemel.artifacts.finding import Finding
from gemel.artifacts.provenance import Provenance
from gemel.artifacts.robot import RobotModel
from gemel.errors import ConfigError, choices_text
from gemel.project import Project
from gemel.services.formats.frames import CaptureFrames
from gemel.services.formats.mask_folder import MaskFolder
from gemel.services.formats.robot_model import compile_robot, read_robot_model
from gemel.services.formats.source import Source, open_source, robot_model_path
from gemel.stages.segment.robot_shape import RobotShape
from gemel.store.code_version import code_version
from gemel.store.codec import encode
from gemel.store.seal import Grant
from gemel.store.store import Store, work_key

T = TypeVar("T")
OnProgress = Callable[[float], None]


class Reporter(Protocol):
    """Shows a run to whoever watches it."""

    def stage(self, name: str) -> AbstractContextManager[OnProgress]:
        """Announce a stage that runs; the context gives its progress callback (0 to 1)."""
        ...

    def done(self, result: "StageResult") -> None:
        """Announce that a stage has its result."""
        ...


@dataclass(frozen=True)
class StageResult:
    """What a stage came to."""

    name: str
    address: str
    is_cached: bool
    duration_s: float
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class StageStatus:
    """What exists of a stage."""

    name: str
    state: str
    """`done`, `stale` (inputs, settings or code changed), `waiting` (for a stage before it) or `missing`."""
    address: str = ""
    made_at: str = ""
    duration_s: float = 0.0


@dataclass
class Run:
    """One project being run: its store, its log and the artifacts so far."""

    project: Project
    store: Store
    addresses: dict[str, str] = field(default_factory=dict)
    on_hashed: Callable[[float], None] = lambda fraction: None

    @cached_property
    def source(self) -> Source:
        """The log, opened."""
        return open_source(self.project.source)

    @cached_property
    def hash_from_file(self) -> dict[str, str]:
        """SHA-256 of every file of the log; files that were hashed before and did not change are not read."""
        paths = {relative: self.source.root / relative for relative in self.source.files()}
        total = max(sum(path.stat().st_size for path in paths.values()), 1)
        done = 0

        def on_file(path: Any, digest: str) -> None:
            nonlocal done
            done += path.stat().st_size
            self.on_hashed(done / total)

        hashes = self.store.hash_files(list(paths.values()), on_file=on_file)
        return {relative: hashes[path] for relative, path in paths.items()}

    @cached_property
    def robot(self) -> RobotModel | None:
        """The robot's description: the project's, else the one that came with the log."""
        path = robot_model_path(self.source, self.project.robot_model)
        return read_robot_model(path, self.store) if path else None

    @cached_property
    def robot_shape(self) -> RobotShape | None:
        """The robot as it can be drawn."""
        path = robot_model_path(self.source, self.project.robot_model)
        return RobotShape(compile_robot(path)) if path else None

    @cached_property
    def masks(self) -> MaskFolder:
        """Masks that the user keeps beside the log."""
        return MaskFolder(self.project.masks_folder)

    @cached_property
    def corrections(self) -> MaskFolder:
        """Masks that were painted with `gemel prompt`."""
        return MaskFolder(self.project.corrections_folder)

    def get(self, stage: str, kind: type[T]) -> T:
        """The artifact of an earlier stage."""
        return self.store.get(self.addresses[stage], kind)

    def frames(self, capture: Capture, stage: str, key: str) -> Frames:
        """The reader for one stage: sealed, logged, checked against the hashes of ingest."""
        grant = Grant(self.store.ledger, stage, key)
        return CaptureFrames(
            capture,
            source_root=self.source.root,
            blobs=self.store,
            grant=grant.read,
            hash_of=lambda path: self.store.hash_files([path])[path],
        )


@dataclass(frozen=True)
class Stage:
    """How one stage is wired: what it takes, what it is told, what it makes."""

    name: str
    module: str
    """Module whose code, with all that it imports, decides whether the stage has to run again."""
    inputs: tuple[str, ...]
    """Stages whose artifacts it takes."""
    sources: Callable[[Run], dict[str, str]]
    """Hashes of what it takes from outside the store."""
    config: Callable[[Run], Any]
    make: Callable[[Run, str, OnProgress], tuple[Any, tuple[Finding, ...]]]
    settle: Callable[[Run, str], None] = lambda run, address: None
    """What has to hold once its artifact is there, made now or before."""


def run_stages(
    stages: Sequence[Stage], project: Project, reporter: Reporter, *, first: str | None = None, last: str | None = None
) -> list[StageResult]:
    """Run what is missing, up to `last`; from `first` on, run again even what exists."""
    _check_names(stages, first, last)
    store = Store(project.store_folder)
    try:
        return list(_run_each(stages, Run(project, store), reporter, first, last))
    finally:
        store.close()


def _run_each(
    stages: Sequence[Stage], run: Run, reporter: Reporter, first: str | None, last: str | None
) -> Iterator[StageResult]:
    is_forced = False
    for stage in stages:
        is_forced = is_forced or stage.name == first
        result = _run_stage(run, stage, reporter, is_forced)
        run.addresses[stage.name] = result.address
        stage.settle(run, result.address)
        reporter.done(result)
        yield result
        if stage.name == last:
            return


def _run_stage(run: Run, stage: Stage, reporter: Reporter, is_forced: bool) -> StageResult:
    with reporter.stage(stage.name) as on_progress:
        run.on_hashed = lambda fraction: on_progress(0.7 * fraction)
        started = time.monotonic()
        provenance = _provenance(run, stage)
        key = work_key(provenance)
        found = None if is_forced else run.store.find(key)
        if found:
            return StageResult(stage.name, found, True, time.monotonic() - started)
        artifact, findings = stage.make(run, key, lambda fraction: on_progress(0.7 + 0.3 * fraction))
        duration = time.monotonic() - started
        address = run.store.put(artifact, provenance, key=key, duration_s=duration)
        return StageResult(stage.name, address, False, duration, findings)


def _provenance(run: Run, stage: Stage) -> Provenance:
    return Provenance(
        stage=stage.name,
        inputs={name: run.addresses[name] for name in stage.inputs},
        sources=stage.sources(run),
        config=encode(stage.config(run), {}),
        code=code_version(stage.module),
        seed=run.project.settings.seed,
        device="cpu",
    )


def status_of(stages: Sequence[Stage], project: Project) -> list[StageStatus]:
    """What exists of each stage, without running anything."""
    if not (project.store_folder / "ledger.sqlite").exists():
        return [StageStatus(name, "missing") for name in names_of(stages)]
    store = Store.open(project.store_folder)
    try:
        run = Run(project, store)
        return [_stage_status(run, stage) for stage in stages]
    finally:
        store.close()


def _stage_status(run: Run, stage: Stage) -> StageStatus:
    entries = [e for e in run.store.ledger.entries("artifact") if e.body["stage"] == stage.name]
    if any(name not in run.addresses for name in stage.inputs):
        return StageStatus(stage.name, "waiting" if not entries else "stale")
    address = run.store.find(work_key(_provenance(run, stage)))
    if address is None:
        return StageStatus(stage.name, "stale" if entries else "missing")
    run.addresses[stage.name] = address
    entry = next(e for e in reversed(entries) if e.body["address"] == address)
    return StageStatus(stage.name, "done", address, entry.at, float(entry.body["duration_s"]))


def names_of(stages: Sequence[Stage]) -> tuple[str, ...]:
    """Names of the stages, in order."""
    return tuple(stage.name for stage in stages)


def _check_names(stages: Sequence[Stage], *names: str | None) -> None:
    for name in names:
        if name is not None and name not in names_of(stages):
            raise ConfigError(f"Stage {choices_text(name, names_of(stages))}", remedy="use one of the choices")
