"""Track: video and reconstruction -> object poses over time.

Owns: where objects are at every frame of every calibration and validation episode, how sure that is, and where they
were lost.
Does not own: shapes, cameras and robot calibration (reconstruct), masks (segment), physics (identify).
Inputs: `FitData` read through `Frames`, the `Reconstruction`, masks as help for the start, the robot's model.
Output: `Tracks`, poses at the middle of the exposures on the robot's clock, smoothed, with covariances.
How: each frame by render-and-compare over all cameras (services/tracking), from constant velocity or a prediction;
at the start and after a loss, poses at rest on the table are searched. An object near the table is softly held to lie
there as it did in the scan; a lifted one is not.
Judged by: `gemel bench track` against the truth of stand-in worlds.

Time: about 0.12 s of processor time per frame with two cameras at 160 x 120 (fast mode). Memory: one frame at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gemel.artifacts.capture import EpisodeKind, EpisodeRecord
from gemel.artifacts.episode import Frames
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.reconstruction import Reconstruction
from gemel.artifacts.split import FitData
from gemel.artifacts.track import Track, Tracks
from gemel.errors import ConfigError, SourceError, choices_text
from gemel.geometry import SE3
from gemel.services.render.renderer import Renderer, make_renderer
from gemel.services.render.torch_threads import one_torch_thread
from gemel.services.tracking.follower import Target
from gemel.services.tracking.refine import RefineConfig
from gemel.services.tracking.resting import Resting
from gemel.services.tracking.smoother import MotionModel, Smoothed, smooth
from gemel.stages.track.config import TrackConfig
from gemel.stages.track.episode_views import Lab, MaskOf, open_lab, straight_mask
from gemel.stages.track.findings import not_found, track_findings
from gemel.stages.track.follow import Followed, Predict, follow, follow_again
from gemel.stages.track.mocap import mocap_tracks
from gemel.stages.track.uncertainty import inflation, track_covariances

OnProgress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class TrackInfo:
    """What the stage noticed."""

    findings: tuple[Finding, ...]
    growth: Mapping[str, float] = field(default_factory=dict)
    """By object: how much larger the calibration episodes show variances to be than one frame's residuals say."""
    lab: Lab | None = None
    """Cameras and scenery, for pictures."""
    every: int = 1
    """Steps of the log between two poses."""


@dataclass(frozen=True, eq=False)
class _Job:
    """One object in one episode."""

    record: EpisodeRecord
    name: str
    times_s: np.ndarray
    followed: Followed
    smoothed: Smoothed


def track(
    fit: FitData,
    reconstruction: Reconstruction,
    config: TrackConfig,
    *,
    mask_of: MaskOf,
    frames: Frames,
    robot: Any,
    predict: Predict = lambda episode, name, time_s: None,
    on_progress: OnProgress = lambda fraction: None,
) -> tuple[Tracks, TrackInfo]:
    """All objects through all episodes; `robot` is the compiled robot model (`mujoco.MjModel`) or None."""
    return track_episodes(
        _chosen_records(fit, config), fit, reconstruction, config, mask_of=mask_of, frames=frames, robot=robot,
        predict=predict, on_progress=on_progress,
    )  # fmt: skip


@one_torch_thread()
def track_episodes(
    records: Sequence[EpisodeRecord],
    fit: FitData,
    reconstruction: Reconstruction,
    config: TrackConfig,
    *,
    mask_of: MaskOf,
    frames: Frames,
    robot: Any,
    predict: Predict = lambda episode, name, time_s: None,
    on_progress: OnProgress = lambda fraction: None,
) -> tuple[Tracks, TrackInfo]:
    """All objects through the given episodes, before plates and cameras of the fit's.

    Whether an episode may be read is decided by `frames`: a reader for `track` refuses the holdout, so only an
    evaluation, with a reader of its own, can follow objects there.
    """
    if config.source == "mocap":
        return _from_log(records, frames, config)
    if not reconstruction.objects:
        return Tracks((), "video"), TrackInfo((_nothing_to_track(),))
    renderer = make_renderer("cpu")
    lab = open_lab(
        fit, frames, reconstruction, robot=robot, objects=tuple(reconstruction.objects), mask_of=mask_of,
        renderer=renderer, has_moving_cameras=config.has_moving_cameras,
    )  # fmt: skip
    targets = {name: _target(reconstruction, name, config, renderer) for name in reconstruction.objects}
    pairs = [(record, name) for record in records for name in targets if record.object in ("", name)]
    total = max(sum(record.step_count for record, _ in pairs), 1)
    jobs: list[_Job] = []
    findings: list[Finding] = []
    done = 0
    for record, name in pairs:

        def on_frame(part: float, done: int = done, count: int = record.step_count) -> None:
            on_progress((done + part * count) / total)

        job = _followed(lab, record, name, targets[name], config, mask_of=mask_of, predict=predict, on_frame=on_frame)
        done += record.step_count
        if job is None:
            findings.append(not_found(name, record.id))
        else:
            jobs.append(job)
    growth = {name: _growth(name, jobs, fit, targets[name]) for name in targets}
    tracks = tuple(_track(job, growth[job.name]) for job in jobs)
    findings += [finding for one in tracks for finding in track_findings(one)]
    return Tracks(tracks, "video"), TrackInfo(tuple(findings), growth, lab, config.every)


def _chosen_records(fit: FitData, config: TrackConfig) -> tuple[EpisodeRecord, ...]:
    """The episodes that are looked at: in a scan objects lie still, where the reconstruction has them."""
    records = {record.id: record for record in (*fit.calibration, *fit.validation)}
    unknown = [name for name in config.episodes if name not in records]
    if unknown:
        raise ConfigError(
            f"[track] episode {choices_text(unknown[0], tuple(records))}", remedy="use one of the choices"
        )
    if config.episodes:
        return tuple(record for name, record in records.items() if name in config.episodes)
    trials = tuple(record for record in records.values() if record.kind is EpisodeKind.TASK)
    return trials or tuple(records.values())


def _growth(name: str, jobs: Sequence[_Job], fit: FitData, target: Target) -> float:
    """Learnt on calibration episodes alone, where there are any: validation shows whether it holds."""
    calibration = {record.id for record in fit.calibration}
    mine = [job for job in jobs if job.name == name]
    own = [job for job in mine if job.record.id in calibration] or mine
    poses = [pose for job in own for pose in job.followed.poses]
    return inflation(poses, target.resting)


def _target(reconstruction: Reconstruction, name: str, config: TrackConfig, renderer: Renderer) -> Target:
    from gemel.services.tracking.tracked_object import TrackedObject

    resting = Resting(reconstruction.placements[name])
    tracked = TrackedObject(reconstruction.objects[name])
    return Target(tracked, resting, RefineConfig(), renderer, is_held_down=config.is_resting)


def _followed(
    lab: Lab, record: EpisodeRecord, name: str, target: Target, config: TrackConfig, *, mask_of: MaskOf,
    predict: Predict, on_frame: OnProgress,
) -> _Job | None:  # fmt: skip
    """One object through one episode, once in fast mode and twice in full mode."""
    all_times_s = lab.frame_times_s(lab.frames.episode(record.id))
    steps = range(0, len(all_times_s), config.every)
    times_s = all_times_s[:: config.every]
    passes = 2 if config.mode == "full" else 1

    def masks_at(look: int) -> dict[str, np.ndarray]:
        pairs = ((lens, mask_of(name, record.id, lens.name, steps[look])) for lens in lab.lookout.lenses)
        return {lens.name: straight_mask(lens, mask) for lens, mask in pairs if mask is not None}

    def predicted(time_s: float) -> SE3 | None:
        return predict(record.id, name, time_s)

    def progress(first: int, step: int) -> None:
        on_frame((first + (step + 1) / len(times_s)) / passes)

    followed = follow(
        target, lab.views(record, steps), times_s, masks_at, predicted, lambda step: progress(0, step)
    )  # fmt: skip
    if followed is None:
        return None
    motion = MotionModel(acceleration=config.acceleration, jitter_s=config.clock_jitter_s)
    smoothed = smooth(times_s, followed.poses, followed.Ts_reference, lab.lookout.delays_s, motion)
    if config.mode == "full":
        finer = replace(
            target, config=replace(target.config, blurs_px=(0.5, 0.0, 0.0, 0.0), splat_steps=config.splat_steps)
        )
        followed = follow_again(
            finer, lab.views(record, steps), smoothed.Ts_world_object, smoothed.velocities, followed,
            lambda step: progress(1, step),
        )  # fmt: skip
        smoothed = smooth(times_s, followed.poses, followed.Ts_reference, lab.lookout.delays_s, motion)
    return _Job(record, name, times_s, followed, smoothed)


def _track(job: _Job, growth: float) -> Track:
    return Track(
        episode=job.record.id,
        object=job.name,
        times_s=job.times_s,
        Ts_world_object=SE3.from_matrix(job.smoothed.Ts_world_object),
        covariances=track_covariances(job.smoothed, job.followed.poses, growth),
        is_lost=job.followed.is_lost,
    )


def _from_log(records: Sequence[EpisodeRecord], frames: Frames, config: TrackConfig) -> tuple[Tracks, TrackInfo]:
    """The log's own poses."""
    tracks = tuple(one for record in records for one in mocap_tracks(frames.episode(record.id), config))
    if not tracks:
        raise SourceError(
            f'[track] source = "mocap", but none of the {len(records)} calibration and validation episodes has logged '
            "object poses.",
            remedy='log them, or use source = "video"',
        )
    return Tracks(tracks, "mocap"), TrackInfo(tuple(finding for one in tracks for finding in track_findings(one)))


def _nothing_to_track() -> Finding:
    return Finding(
        code="nothing-to-track",
        severity=Severity.WARNING,
        message="No object was reconstructed, so none was followed.",
        remedy='reconstruct one, or use logged poses with [track] source = "mocap"',
    )
