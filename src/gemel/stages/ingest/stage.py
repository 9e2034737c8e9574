"""Ingest: a raw log becomes an immutable `Capture`.

Owns: conversion to SI units, the clock report, content hashes, fingerprints of episodes.
Does not own: reading files of a format (services/formats), judging images (`gemel inspect`), roles (split).
Inputs: an opened `Source`, the robot model if there is one, and what `twin.toml` adds.
Output: a `Capture`; numbers go to the store one episode at a time, images and videos stay where they are.
Judged by: time over hashing the same bytes (at most 2), memory that does not grow with the log's length.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs, FileRef
from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import (
    Capture,
    DepthVideo,
    EpisodeKind,
    EpisodeRecord,
    ImageSequence,
    ImageStream,
    JointSignal,
    UnitSource,
    VideoSegment,
)
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.robot import RobotModel
from gemel.errors import ConfigError, SourceError, choices_text
from gemel.services.formats.calibration import JointScale, camera_from_table
from gemel.services.formats.robot_model import match_joints
from gemel.services.formats.source import RawEpisode, RawImages, RawVideo, Source, SourceLayout
from gemel.stages.ingest.checks import check_clock, check_numbers
from gemel.stages.ingest.clock import EpisodeClock, clock_report, episode_clock
from gemel.stages.ingest.config import IngestConfig

OnProgress = Callable[[float], None]
AS_LOGGED = "as logged"
_WRITERS = 8
"""Threads that store episodes: they mostly wait for the disk, which serves several waiting at once."""
_EPISODES_IN_FLIGHT = 16


@dataclass(frozen=True)
class IngestInfo:
    """What ingest noticed on the way."""

    findings: tuple[Finding, ...]


def ingest(
    source: Source,
    config: IngestConfig,
    *,
    robot: RobotModel | None,
    source_hash: str,
    hash_from_file: Mapping[str, str],
    blobs: Blobs,
    on_progress: OnProgress = lambda fraction: None,
) -> tuple[Capture, IngestInfo]:
    """Check the whole log, then take it in. Nothing is stored if anything is wrong."""
    layout = source.layout
    scales = _scales(layout, config)
    joints = _joint_signals(layout, scales, robot)
    cameras = _cameras(layout, config)
    findings = _check(source)
    conversion = _Conversion.of(layout, scales)
    records, clocks = _take_in(source, conversion, config, hash_from_file, blobs, on_progress)
    capture = Capture(
        source_format=layout.format,
        source_hash=source_hash,
        episodes=tuple(records),
        cameras=cameras,
        joints=joints,
        action_names=layout.action_names,
        action_units=conversion.action_units,
        clock=clock_report(clocks),
        robot=robot,
        extras=layout.extras,
    )
    return capture, IngestInfo(tuple(findings))


@dataclass(frozen=True)
class _Conversion:
    """How each joint and action column becomes SI; None leaves a column as it was logged."""

    joints: tuple[JointScale, ...]
    actions: tuple[JointScale | None, ...]

    @staticmethod
    def of(layout: SourceLayout, scales: Mapping[str, JointScale]) -> "_Conversion":
        actions = (scales.get(f"action:{name}") or scales.get(name) for name in layout.action_names)
        return _Conversion(tuple(scales[name] for name in layout.joint_names), tuple(actions))

    @property
    def action_units(self) -> tuple[str, ...]:
        return tuple(scale.si_unit if scale else AS_LOGGED for scale in self.actions)

    def state(self, logged: Float[np.ndarray, "t joint"]) -> Float[np.ndarray, "t joint"]:
        return _converted(logged, self.joints)

    def action(self, logged: Float[np.ndarray, "t action"]) -> Float[np.ndarray, "t action"]:
        return _converted(logged, self.actions)


def _converted(
    logged: Float[np.ndarray, "t value"], scales: Sequence[JointScale | None]
) -> Float[np.ndarray, "t value"]:
    values = logged.copy()
    for column, scale in enumerate(scales):
        if scale is not None:
            values[:, column] = scale.to_si(logged[:, column])
    return values


def _take_in(
    source: Source,
    conversion: _Conversion,
    config: IngestConfig,
    hash_from_file: Mapping[str, str],
    blobs: Blobs,
    on_progress: OnProgress,
) -> tuple[list[EpisodeRecord], list[EpisodeClock]]:
    """Store each episode; several are written at a time, and never more than sixteen are in memory."""
    total = max(source.episode_count(), 1)
    records: list[EpisodeRecord] = []
    clocks: list[EpisodeClock] = []
    pending: deque[Future[EpisodeRecord]] = deque()
    with ThreadPoolExecutor(max_workers=_WRITERS) as pool:
        for raw in source.episodes(lambda finding: None):
            clocks.append(episode_clock(raw.times_s))
            pending.append(pool.submit(_record, raw, conversion, config, source.root, hash_from_file, blobs))
            if len(pending) >= _EPISODES_IN_FLIGHT:
                records.append(pending.popleft().result())
            on_progress(len(clocks) / total)
        records += [future.result() for future in pending]
    return records, clocks


def _check(source: Source) -> list[Finding]:
    """All findings that need no decoding; errors end ingest here, before anything is stored."""
    findings: list[Finding] = []
    source.check_files(findings.append)
    count = 0
    for raw in source.episodes(findings.append):
        count += 1
        check_numbers(raw, source.layout, findings.append)
        check_clock(raw, episode_clock(raw.times_s), findings.append)
    errors = [f for f in findings if f.severity is Severity.ERROR]
    if errors:
        listed = "\n".join(f"  - {f.place}: {f.message}" for f in errors[:5])
        more = f"\n  and {len(errors) - 5} more" if len(errors) > 5 else ""
        raise SourceError(
            f"The log at {source.root} has {len(errors)} errors; nothing was ingested:\n{listed}{more}",
            remedy=f"{errors[0].remedy}. `gemel inspect` lists all of them",
        )
    if not count:
        raise SourceError(f"The log at {source.root} has no episodes.", remedy="record some, or check the path")
    return findings


def _scales(layout: SourceLayout, config: IngestConfig) -> dict[str, JointScale]:
    """The confirmed unit of every joint: from twin.toml, else from the source; never guessed here."""
    for name in config.joints:
        if name not in layout.joint_names:
            raise ConfigError(
                f"twin.toml [joints]: {choices_text(name, layout.joint_names)}",
                remedy="use the log's joint names",
            )
    scales = {**layout.declared_scales, **config.joints}
    missing = [name for name in layout.joint_names if name not in scales]
    unconfirmed = [name for name in layout.joint_names if name in scales and not scales[name].confirmed]
    if missing or unconfirmed:
        what = f"no unit for {missing}" if missing else f"only an inferred, unconfirmed unit for {unconfirmed}"
        raise ConfigError(
            f"twin.toml gives {what}. Units are never guessed silently.",
            remedy="look at the evidence beside each [joints.…] table in twin.toml (or run `gemel inspect`), "
            "correct the unit and set `confirmed = true`; or make the project again with "
            "`gemel new … --units rad` (deg, …)",
        )
    return scales | {f"action:{name}": scale for name, scale in config.actions.items()}


def _joint_signals(
    layout: SourceLayout, scales: Mapping[str, JointScale], robot: RobotModel | None
) -> tuple[JointSignal, ...]:
    model_from_logged = match_joints(layout.joint_names, robot.joint_names) if robot else {}
    signals = []
    for name in layout.joint_names:
        scale = scales[name]
        model_joint = scale.model_joint or model_from_logged.get(name, "")
        if robot is not None and model_joint not in robot.joint_names:
            raise ConfigError(
                f"The robot model {robot.name!r} has no joint for the logged {name!r}. Joints of the model: "
                f"{list(robot.joint_names)}.",
                remedy=f'name it in twin.toml: [joints."{name}"] model_joint = "…"',
            )
        declared = layout.declared_scales.get(name)
        origin = UnitSource.SOURCE if declared == scale else UnitSource.PROJECT
        signals.append(JointSignal(name, scale.unit, scale.si_unit, origin, model_joint))
    return tuple(signals)


def _cameras(layout: SourceLayout, config: IngestConfig) -> tuple[Camera, ...]:
    names = tuple(camera.name for camera in layout.cameras)
    for name in config.cameras:
        if name not in names:
            raise ConfigError(f"twin.toml [cameras]: {choices_text(name, names)}", remedy="use the log's camera names")
    return tuple(
        camera_from_table(camera.name, config.cameras[camera.name], camera) if camera.name in config.cameras else camera
        for camera in layout.cameras
    )


def _record(
    raw: RawEpisode,
    conversion: _Conversion,
    config: IngestConfig,
    root: Path,
    hash_from_file: Mapping[str, str],
    blobs: Blobs,
) -> EpisodeRecord:
    table = _table(raw, conversion.state(raw.state), conversion.action(raw.action), hash_from_file)
    streams = tuple(_stream(s, root, hash_from_file) for s in raw.streams)
    is_scan = raw.kind is EpisodeKind.SCAN or raw.id in config.scan_episodes
    return EpisodeRecord(
        id=raw.id,
        kind=EpisodeKind.SCAN if is_scan else EpisodeKind.TASK,
        domain=config.domain,
        task=raw.task,
        step_count=len(raw.times_s),
        duration_s=float(raw.times_s[-1] - raw.times_s[0]),
        signals=blobs.put_table(table),
        fingerprint=_fingerprint(raw, streams, hash_from_file),
        streams=streams,
        is_success=raw.is_success,
        object=config.object_from_episode.get(raw.id, raw.object),
        depths=tuple(DepthVideo(_segment(d.video, root, hash_from_file), d.code) for d in raw.depths),
    )


def _table(
    raw: RawEpisode, state: np.ndarray, action: np.ndarray, hash_from_file: Mapping[str, str]
) -> dict[str, np.ndarray]:
    table = {"time_s": raw.times_s}
    table |= {name: values for name, values in (("joints", state), ("actions", action)) if values.shape[1]}
    table |= {f"extra/{name}": values for name, values in raw.extras.items()}
    table |= {f"pose/{name}": poses.wxyz_xyz for name, poses in raw.camera_poses.items()}
    table |= {f"intrinsics/{name}": values for name, values in raw.camera_intrinsics.items()}
    for stream in raw.streams:
        if isinstance(stream, RawVideo):
            continue
        kinds = {"image": stream.paths, "mask": stream.mask_paths, "depth": stream.depth_paths}
        for kind, paths in kinds.items():
            if kind == "image" or paths:
                table[f"{kind}/{stream.camera}"] = np.array(paths)
                table[f"{kind}_sha256/{stream.camera}"] = np.array([hash_from_file.get(p, "") for p in paths])
    return table


def _stream(stream: RawVideo | RawImages, root: Path, hash_from_file: Mapping[str, str]) -> ImageStream:
    if isinstance(stream, RawVideo):
        return _segment(stream, root, hash_from_file)
    return ImageSequence(stream.camera, len(stream.paths))


def _segment(stream: RawVideo, root: Path, hash_from_file: Mapping[str, str]) -> VideoSegment:
    size = (root / stream.path).stat().st_size
    file = FileRef(stream.path, hash_from_file[stream.path], size)
    return VideoSegment(stream.camera, file, stream.from_s, stream.frame_count)


def _fingerprint(raw: RawEpisode, streams: Sequence[ImageStream], hash_from_file: Mapping[str, str]) -> str:
    """Hash of the raw numbers; an episode whose numbers say nothing is told apart by its images."""
    digest = hashlib.sha256()
    for values in (raw.state, raw.action):
        digest.update(repr(values.shape).encode())
        digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    numbers = np.concatenate([raw.state, raw.action], axis=1)
    if numbers.size == 0 or not np.ptp(numbers, axis=0).any():
        for stream in streams:
            if isinstance(stream, VideoSegment):
                digest.update(f"{stream.file.sha256}@{stream.from_s:.6f}".encode())
        paths = [p for s in raw.streams if not isinstance(s, RawVideo) for p in s.paths]
        digest.update("".join(hash_from_file.get(p, "") for p in paths).encode())
    return digest.hexdigest()
