"""How the stages of physics are wired: prior, draft of the twin, posterior, twin."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.artifacts.camera import WORLD
from gemel.artifacts.capture import Capture
from gemel.artifacts.episode import Frames
from gemel.artifacts.finding import Finding
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.segmentation import Segmentation
from gemel.artifacts.split import FitData, Split
from gemel.artifacts.task import Task
from gemel.artifacts.track import Tracks
from gemel.artifacts.twin import Twin
from gemel.running import OnProgress, Run
from gemel.services.formats.mask_tracks import MaskReader
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.formats.toml_table import read_toml
from gemel.services.kinematics.calibrated_robot import CalibratedRobot
from gemel.services.sim.commanded import NONE, action_reader
from gemel.services.sim.contacts import stored_tool_labels
from gemel.services.sim.grippers import GRIPPER
from gemel.services.tasks import get_task
from gemel.stages.assemble.bare_table import SeenTrials
from gemel.stages.assemble.stage import assemble
from gemel.stages.identify.drives import with_drives
from gemel.stages.identify.stage import identify
from gemel.stages.prior.config import PriorConfig, VlmConfig
from gemel.stages.prior.material_table import TABLE_FILE
from gemel.stages.prior.stage import Ranges, prior
from gemel.stages.prior.vlm.client import Chat
from gemel.stages.prior.vlm.views import object_pictures
from gemel.stages.track.episode_views import open_lab
from gemel.stages.track.footage import LabFootage
from gemel.store.address import hash_json
from gemel.store.codec import encode
from gemel.trial_frames import tracked_trials, trial_frames
from gemel.trials import calibration_trials, home_of

_TRIAL_FRAMES, _FRAMES_PER_TRIAL, _MOST_TRIALS = 56, (4, 12), 12
"""About how many frames of each camera show the table without objects, from how many trials."""


def make_prior(run: Run, key: str, on_progress: OnProgress) -> tuple[Belief, tuple[Finding, ...]]:
    """What is believed before anything is touched."""
    capture, reconstruction = run.get("ingest", Capture), run.get("reconstruct", Reconstruction)
    config, path = run.project.prior_config(), run.project.prior_file
    fit = FitData.of(capture, run.get("split", Split))
    tools = stored_tool_labels(capture.robot, run.store)
    result, info = prior(
        reconstruction,
        config,
        blobs=run.store,
        rng=np.random.default_rng([run.project.settings.seed, 5]),
        task_ranges=_of_each_gripper(_task_ranges(run), tools),
        tools=tools,
        file_table=read_toml(path) if path else None,
        pictures=lambda name: object_pictures(
            name,
            config.vlm.images,
            reconstruction,
            fit=fit,
            frames=run.frames(capture, "prior", key),
            mask_of=MaskReader(run.get("segment", Segmentation), run.store),
            robot=compile_stored_robot(capture.robot, run.store) if capture.robot is not None else None,
        ),
        chat=_chat(config.vlm) if config.kind == "vlm" else None,
        on_progress=on_progress,
    )
    return result, info.findings


def _of_each_gripper(ranges: Ranges, tools: Sequence[str]) -> Ranges:
    """Ranges in which what a task says of `gripper` is said of each of a robot's grippers."""
    each = [tool for tool in tools if tool.endswith(f"_{GRIPPER}")]
    found: dict[str, tuple[float, float]] = {}
    for name, values in ranges.items():
        names = [name.replace(f"-{GRIPPER}/", f"-{tool}/") for tool in each] if f"-{GRIPPER}/" in name else []
        found |= dict.fromkeys(names or [name], values)
    return found


def _chat(config: VlmConfig) -> Chat | None:
    """The model to ask, if one is named; its key is read here and goes nowhere but into its requests."""
    if not config.url and not config.model:
        return None
    return Chat(
        config.url,
        config.model,
        key=os.environ.get("GEMEL_VLM_KEY", ""),
        timeout_s=config.timeout_s,
        retries=config.retries,
        backoff_s=config.backoff_s,
    )


def prior_config(run: Run) -> PriorConfig:
    """Which model would be asked is part of the work only where one is asked."""
    config = run.project.prior_config()
    return config if config.kind == "vlm" else replace(config, vlm=VlmConfig())


def prior_sources(run: Run) -> dict[str, str]:
    """The table of materials, the user's own prior, and the ranges of the task that is named."""
    files = {"materials": TABLE_FILE, "file": run.project.prior_file}
    sources = {name: run.store.hash_files([path])[path] for name, path in files.items() if path and path.is_file()}
    return sources | {"task": hash_json(encode(_task_ranges(run), {}))}


def _task_ranges(run: Run) -> Ranges:
    task = _task(run)
    return task.parameter_ranges if task is not None else {}


def twin_sources(run: Run) -> dict[str, str]:
    """The task that is named."""
    return {"task": hash_json(encode(_task(run), {}))}


def make_draft(run: Run, key: str, on_progress: OnProgress) -> tuple[Twin, tuple[Finding, ...]]:
    """The twin as it is believed before anything is touched: what tracks are compared with."""
    return _assembled(run, "draft", key, run.get("prior", Belief), on_progress)


def make_twin(run: Run, key: str, on_progress: OnProgress) -> tuple[Twin, tuple[Finding, ...]]:
    """The twin with what motion taught."""
    return _assembled(run, "assemble", key, run.get("identify", Belief), on_progress, _seen_trials(run, key))


def _seen_trials(run: Run, key: str) -> SeenTrials | None:
    """Frames of calibration trials by cameras that stand still; None without a robot."""
    capture, seen = run.get("ingest", Capture), run.get("reconstruct", Reconstruction)
    if capture.robot is None:
        return None
    fit, tracks = FitData.of(capture, run.get("split", Split)), run.get("track", Tracks)
    robot = CalibratedRobot(compile_stored_robot(capture.robot, run.store), fit.joints, seen)
    records = tracked_trials(fit.calibration, tracks, _MOST_TRIALS)
    count = int(np.clip(_TRIAL_FRAMES // max(len(records), 1), *_FRAMES_PER_TRIAL))
    cameras = [c for c in seen.cameras if c.is_calibrated and c.parent == WORLD and not c.has_pose_per_frame]
    found = partial(
        trial_frames, count=count, fit=fit, tracks=tracks, frames=run.frames(capture, "assemble", key), robot=robot
    )
    frames = tuple(frame for record in records for camera in cameras for _, frame in found(record, camera))
    return SeenTrials(robot.tree.links, frames)


def _assembled(
    run: Run, stage: str, key: str, belief: Belief, on_progress: OnProgress, trials: SeenTrials | None = None
) -> tuple[Twin, tuple[Finding, ...]]:
    capture = run.get("ingest", Capture)
    twin, info = assemble(
        run.get("reconstruct", Reconstruction),
        belief,
        run.project.settings.assemble,
        robot=capture.robot,
        joints=capture.joints,
        task=_task(run),
        blobs=run.store,
        rng=np.random.default_rng([run.project.settings.seed, 4]),
        home=home_of(calibration_trials(run, stage, key)) if capture.robot is not None else None,
        trials=trials,
        on_progress=on_progress,
    )
    return twin, info.findings


def make_posterior(run: Run, key: str, on_progress: OnProgress) -> tuple[Belief, tuple[Finding, ...]]:
    """One object after the other, each with what the one before taught as its prior; then the robot's drives."""
    capture, twin = run.get("ingest", Capture), run.get("draft", Twin)
    tracks = run.get("track", Tracks).tracks
    frames = run.frames(capture, "identify", key)
    episodes = {name: frames.episode(name) for name in dict.fromkeys(track.episode for track in tracks)}
    validation = frozenset(record.id for record in FitData.of(capture, run.get("split", Split)).validation)
    footage = _footage(run, capture, frames) if run.project.settings.identify.is_pixel_refined else None
    findings: list[Finding] = []
    names = tuple(dict.fromkeys(track.object for track in tracks))
    for index, name in enumerate(names):
        belief, info = identify(
            twin,
            [track for track in tracks if track.object == name],
            episodes,
            run.project.identify_config(),
            blobs=run.store,
            rng=np.random.default_rng([run.project.settings.seed, 6, index]),
            validation=validation,
            footage=footage,
            on_progress=_share(on_progress, index, len(names)),
        )
        twin = replace(twin, belief=belief)
        findings += info.findings
        on_progress((index + 1) / len(names))
    belief, told = _with_drives(run, key, twin)
    return belief, (*findings, *told)


def _with_drives(run: Run, key: str, twin: Twin) -> tuple[Belief, tuple[Finding, ...]]:
    """What the calibration trials say of the robot's drives."""
    capture, config = run.get("ingest", Capture), run.project.identify_config()
    reader = action_reader(
        twin.robot, run.store, names=capture.action_names, units=capture.action_units, joints=capture.joints,
        model_joints=twin.joints, given=config.actions, arms=config.arms,
    )  # fmt: skip
    trials = calibration_trials(run, "identify", key) if reader.kind != NONE else ()
    return with_drives(twin, trials, reader, blobs=run.store, rng=np.random.default_rng([run.project.settings.seed, 9]))


def _footage(run: Run, capture: Capture, frames: Frames) -> LabFootage:
    """The frames as the tracker looks at them."""
    from gemel.services.render.renderer import make_renderer

    reconstruction = run.get("reconstruct", Reconstruction)
    settings = run.project.settings.track
    lab = open_lab(
        FitData.of(capture, run.get("split", Split)),
        frames,
        reconstruction,
        robot=compile_stored_robot(capture.robot, run.store) if capture.robot is not None else None,
        objects=tuple(reconstruction.objects),
        mask_of=MaskReader(run.get("segment", Segmentation), run.store),
        renderer=make_renderer("cpu"),
        has_moving_cameras=settings.has_moving_cameras,
    )
    return LabFootage(lab)


def _share(on_progress: OnProgress, index: int, count: int) -> OnProgress:
    """Progress of one of several equal parts of the work."""
    return lambda part: on_progress((index + part) / count)


def _task(run: Run) -> Task | None:
    """The task contract that the project names."""
    name = run.project.settings.task.name
    return get_task(name) if name else None
