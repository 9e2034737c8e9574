"""The stages in order: how each is wired to the artifacts before it. This is the only file that knows all stages.

Those of physics are wired in physics_wiring.py, train in train_wiring.py, evaluate in evaluate_wiring.py. A run ends
with the twin: training takes minutes, and the holdout is opened only when that is asked for.
"""

from functools import partial
from pathlib import Path

import numpy as np

from gemel.artifacts.capture import Capture
from gemel.artifacts.finding import Finding
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.segmentation import Segmentation
from gemel.artifacts.split import FitData, Split
from gemel.artifacts.track import Tracks
from gemel.artifacts.twin import Twin
from gemel.errors import StoreError
from gemel.evaluate_wiring import make_evidence
from gemel.outputs.pictures.sheet import Picture
from gemel.outputs.pictures.write import write_pictures
from gemel.physics_wiring import (
    make_draft,
    make_posterior,
    make_prior,
    make_twin,
    prior_config,
    prior_sources,
    twin_sources,
)
from gemel.project import Project
from gemel.reconstruct_pictures import reconstruct_pictures
from gemel.running import OnProgress, Reporter, Run, Stage, StageResult, StageStatus, names_of, run_stages, status_of
from gemel.services.formats.mask_tracks import MaskReader
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.generate.generator import Generator, GeneratorFile, make_generator
from gemel.stages.ingest.stage import ingest
from gemel.stages.reconstruct.stage import nothing_to_reconstruct, reconstruct
from gemel.stages.segment.stage import segment
from gemel.stages.split.stage import split
from gemel.stages.track.stage import track
from gemel.store.address import hash_json
from gemel.store.codec import encode
from gemel.store.seal import record_roles
from gemel.track_pictures import track_pictures
from gemel.train_wiring import How, make_policy
from gemel.twin_pictures import twin_pictures


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
    """Painted masks, the user's masks and the segmenter's weights, as far as they are files here."""
    files = {"corrections": run.corrections.files(), "masks": run.masks.files()}
    model = Path(run.project.segment_model) if run.project.segment_model else None
    if model is not None and model.exists():
        files["model"] = sorted(p for p in model.rglob("*") if p.is_file()) if model.is_dir() else [model]
    return {
        name: hash_json([[path.name, digest] for path, digest in run.store.hash_files(paths).items()])
        for name, paths in files.items() if paths
    }  # fmt: skip


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


def _make_reconstruction(run: Run, key: str, on_progress: OnProgress) -> tuple[Reconstruction, tuple[Finding, ...]]:
    capture = run.get("ingest", Capture)
    masks = MaskReader(run.get("segment", Segmentation), run.store)
    fit = FitData.of(capture, run.get("split", Split))
    if not masks.objects:
        return nothing_to_reconstruct(fit)
    result, info = reconstruct(
        fit,
        run.project.settings.reconstruct,
        objects=masks.objects,
        mask_of=masks,
        frames=run.frames(capture, "reconstruct", key),
        robot=compile_stored_robot(capture.robot, run.store) if capture.robot is not None else None,
        rng=np.random.default_rng([run.project.settings.seed, 3]),
        on_progress=on_progress,
        generator=_generator(run),
        on_judged=lambda info: show(run, "reconstruct", reconstruct_pictures(info)),
    )
    return result, info.findings


def _make_tracks(run: Run, key: str, on_progress: OnProgress) -> tuple[Tracks, tuple[Finding, ...]]:
    capture = run.get("ingest", Capture)
    frames = run.frames(capture, "track", key)
    result, info = track(
        FitData.of(capture, run.get("split", Split)),
        run.get("reconstruct", Reconstruction),
        run.project.settings.track,
        mask_of=MaskReader(run.get("segment", Segmentation), run.store),
        frames=frames,
        robot=compile_stored_robot(capture.robot, run.store) if capture.robot is not None else None,
        on_progress=on_progress,
    )
    show(run, "track", track_pictures(result, info, run.get("reconstruct", Reconstruction)))
    return result, info.findings


def _make_twin(run: Run, key: str, on_progress: OnProgress) -> tuple[Twin, tuple[Finding, ...]]:
    twin, findings = make_twin(run, key, on_progress)
    capture = run.get("ingest", Capture)
    pictures, finding = twin_pictures(
        twin,
        FitData.of(capture, run.get("split", Split)),
        run.get("track", Tracks),
        run.frames(capture, "assemble", key),
        run.store,
    )
    show(run, "twin", pictures)
    return twin, (*findings, finding)


def _generator(run: Run) -> Generator | None:
    """Who makes models of objects, if the project wants generated ones."""
    config = run.project.settings.reconstruct
    if config.route != "generated":
        return None
    return make_generator(
        config.generated_file, config.generated_command, config.generated_server, folder=run.project.folder
    )


def _reconstruct_sources(run: Run) -> dict[str, str]:
    """Generated models that are files here, one for each object."""
    generator = _generator(run)
    if not isinstance(generator, GeneratorFile):
        return {}
    folder, pattern = generator.path.parent, generator.path.name.replace("{object}", "*")
    paths = sorted(folder.glob(pattern)) if folder.exists() else []
    hashes = run.store.hash_files(paths)
    return {"models": hash_json([[path.name, hashes[path]] for path in paths])}


def show(run: Run, stage: str, pictures: dict[str, Picture]) -> None:
    """Put a stage's pictures where people look for them: `pictures/STAGE/` in the project folder."""
    write_pictures(run.project.folder / "pictures" / stage, pictures)


STAGES = (
    Stage("ingest", "gemel.stages.ingest.stage", (), _ingest_sources, lambda run: run.project.ingest_config(),
          _make_capture),
    Stage("split", "gemel.stages.split.stage", ("ingest",), lambda run: {},
          lambda run: run.project.settings.split, _make_split, _put_in_force),
    Stage("segment", "gemel.stages.segment.stage", ("ingest", "split"), _segment_sources,
          lambda run: run.project.segment_config(), _make_segmentation),
    Stage("reconstruct", "gemel.stages.reconstruct.stage", ("ingest", "split", "segment"),
          _reconstruct_sources, lambda run: run.project.settings.reconstruct, _make_reconstruction),
    Stage("track", "gemel.stages.track.stage", ("ingest", "split", "segment", "reconstruct"), lambda run: {},
          lambda run: run.project.settings.track, _make_tracks),
    Stage("prior", "gemel.stages.prior.stage", ("ingest", "split", "segment", "reconstruct"), prior_sources,
          prior_config, make_prior),
    Stage("draft", "gemel.stages.assemble.stage", ("ingest", "split", "reconstruct", "prior"), twin_sources,
          lambda run: run.project.settings.assemble, make_draft),
    Stage("identify", "gemel.stages.identify.stage", ("ingest", "split", "segment", "reconstruct", "track",
          "draft"), lambda run: {},
          lambda run: run.project.identify_config(), make_posterior),
    Stage("assemble", "gemel.stages.assemble.stage", ("ingest", "split", "reconstruct", "track", "identify"),
          twin_sources, lambda run: run.project.settings.assemble, _make_twin),
)  # fmt: skip
STAGE_NAMES = names_of(STAGES)


def run_project(
    project: Project, reporter: Reporter, *, first: str | None = None, last: str | None = None
) -> list[StageResult]:
    """Run what is missing, up to `last`; from `first` on, run again even what exists. Training has to be asked for."""
    end = last or ("train" if first == "train" else STAGES[-1].name)
    return run_stages((*STAGES, _train(How())), project, reporter, first=first, last=end)


def _train(how: How) -> Stage:
    return Stage(
        "train", "gemel.stages.train.stage", ("ingest", "split", "assemble"), lambda run: {},
        lambda run: run.project.settings.train, partial(make_policy, how=how),
    )  # fmt: skip


def train_project(project: Project, reporter: Reporter, how: How) -> list[StageResult]:
    """Run what is missing up to the twin, then train the policies of `[train]`."""
    return run_stages((*STAGES, _train(how)), project, reporter)


def _evaluate(*, is_again: bool) -> Stage:
    """The one stage that opens the holdout."""
    return Stage(
        "evaluate", "gemel.stages.evaluate.stage",
        ("ingest", "split", "segment", "reconstruct", "track", "draft", "assemble"), lambda run: {},
        lambda run: run.project.settings.evaluate, partial(make_evidence, is_again=is_again),
    )  # fmt: skip


def evaluate_project(project: Project, reporter: Reporter, *, is_again: bool = False) -> list[StageResult]:
    """Open the holdout for the twin that is there; `is_again` allows a second opening for the same one.

    A twin that is missing or stale is refused, not made: an opening cannot be taken back, so somebody looks first.
    """
    undone = next((row for row in status_of(STAGES, project) if row.state != "done"), None)
    if undone is not None:
        why = "is stale: its inputs, its settings or Gemel changed" if undone.state == "stale" else "is missing"
        raise StoreError(
            f"Stage {undone.name!r} of {project.folder} {why}; the holdout is opened for a finished twin only.",
            remedy=f"run `gemel run {project.folder}` first, look at the twin, then evaluate",
        )
    return run_stages((*STAGES, _evaluate(is_again=is_again)), project, reporter)


def project_status(project: Project) -> list[StageStatus]:
    """What exists of each stage, without running anything."""
    return status_of((*STAGES, _train(How()), _evaluate(is_again=False)), project)
