"""The stages in order: caching by hash, resume, progress and provenance, once for all of them.

This is the only file that knows all stages. A stage runs when its inputs, settings, code or seed changed, and is
taken from the store otherwise; a run that was cut off continues with what is missing.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from gemel.artifacts.capture import Capture
from gemel.artifacts.finding import Finding
from gemel.artifacts.provenance import Provenance
from gemel.artifacts.segmentation import Segmentation
from gemel.artifacts.split import FitData, Split
from gemel.errors import ConfigError, choices_text
from gemel.project import Project
from gemel.run import Run
from gemel.stages.ingest.stage import ingest
from gemel.stages.segment.stage import segment
from gemel.stages.split.stage import split
from gemel.store.address import hash_json
from gemel.store.code_version import code_version
from gemel.store.codec import encode
from gemel.store.seal import record_roles
from gemel.store.store import Store, work_key

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


def _ingest_sources(run: Run) -> dict[str, str]:
    return {"log": hash_json(run.hash_from_file), "robot": hash_json(encode(run.robot, {}))}


def _make_capture(run: Run, key: str, on_progress: OnProgress) -> tuple[Capture, tuple[Finding, ...]]:
    capture, info = ingest(
        run.source,
        run.project.ingest_config(),
        robot=run.robot,
        source_hash=hash_json(run.hash_from_file),
        hash_from_file=run.hash_from_file,
        blobs=run.store,
        on_progress=on_progress,
    )
    return capture, info.findings


def _make_split(run: Run, key: str, on_progress: OnProgress) -> tuple[Split, tuple[Finding, ...]]:
    capture = run.get("ingest", Capture)
    result, info = split(
        capture,
        run.project.settings.split,
        frames=run.frames(capture, "split", key),
        seed=run.project.settings.seed,
        on_progress=on_progress,
    )
    return result, info.findings


def _put_in_force(run: Run, address: str) -> None:
    record_roles(
        run.store.ledger,
        split_address=address,
        capture_address=run.addresses["ingest"],
        split=run.store.get(address, Split),
    )


def _segment_sources(run: Run) -> dict[str, str]:
    """Painted masks, the user's masks and the segmenter's weights."""
    return {
        name: hash_json([[path.name, digest] for path, digest in run.store.hash_files(paths).items()])
        for name, paths in run.segment_files().items()
    }


def _make_segmentation(run: Run, key: str, on_progress: OnProgress) -> tuple[Segmentation, tuple[Finding, ...]]:
    capture = run.get("ingest", Capture)
    fit = FitData.of(capture, run.get("split", Split))
    result, info = segment(
        fit,
        run.project.segment_config(),
        frames=run.frames(capture, "segment", key),
        blobs=run.store,
        robot=run.robot_shape,
        model=run.project.segment_model,
        mask_file=run.masks.mask,
        painted=run.corrections.all_masks(),
        on_progress=on_progress,
    )
    return result, info.findings


STAGES = (
    Stage("ingest", "gemel.stages.ingest.stage", (), _ingest_sources, lambda run: run.project.ingest_config(),
          _make_capture),
    Stage("split", "gemel.stages.split.stage", ("ingest",), lambda run: {},
          lambda run: run.project.settings.split, _make_split, _put_in_force),
    Stage("segment", "gemel.stages.segment.stage", ("ingest", "split"), _segment_sources,
          lambda run: run.project.segment_config(), _make_segmentation),
)  # fmt: skip
STAGE_NAMES = tuple(stage.name for stage in STAGES)


def run_project(
    project: Project, reporter: Reporter, *, first: str | None = None, last: str | None = None
) -> list[StageResult]:
    """Run what is missing, up to `last`; from `first` on, run again even what exists."""
    _check_names(first, last)
    store = Store(project.store_folder)
    try:
        return list(_run_stages(Run(project, store), reporter, first, last))
    finally:
        store.close()


def _run_stages(run: Run, reporter: Reporter, first: str | None, last: str | None) -> Iterator[StageResult]:
    is_forced = False
    for stage in STAGES:
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


def project_status(project: Project) -> list[StageStatus]:
    """What exists of each stage, without running anything."""
    if not (project.store_folder / "ledger.sqlite").exists():
        return [StageStatus(name, "missing") for name in STAGE_NAMES]
    store = Store.open(project.store_folder)
    try:
        run = Run(project, store)
        return [_stage_status(run, stage) for stage in STAGES]
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


def _check_names(*names: str | None) -> None:
    for name in names:
        if name is not None and name not in STAGE_NAMES:
            raise ConfigError(f"Stage {choices_text(name, STAGE_NAMES)}", remedy="use one of the choices")
