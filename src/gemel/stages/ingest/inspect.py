"""Inspect: what is in a log and what is wrong with it. Changes nothing; decodes a bounded number of frames.

Two passes over the numbers (one episode in memory at a time) and one over a sample of frames: a few from all
over the log for exposure, focus and frozen cameras, and runs of consecutive frames where the robot moves most
for repeated frames and for the offset between cameras and joints.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from gemel.artifacts.capture import ClockReport
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.inspection import EpisodeSummary, Estimate, Inspection, StreamSummary, UnitGuess
from gemel.artifacts.robot import RobotJoint
from gemel.errors import SourceError
from gemel.services.formats.raw_images import raw_images
from gemel.services.formats.robot_model import match_joints
from gemel.services.formats.source import RawEpisode, Source
from gemel.stages.ingest.camera_clock import camera_timing
from gemel.stages.ingest.checks import check_clock, check_numbers
from gemel.stages.ingest.clock import EpisodeClock, clock_report, episode_clock
from gemel.stages.ingest.image_checks import CameraLook, FrameLook, change, check_camera, look_at
from gemel.stages.ingest.joint_checks import Extremes, check_joints
from gemel.stages.ingest.lag import action_window, check_lag, estimate
from gemel.stages.ingest.motion import Window, combine, joint_velocity, window
from gemel.stages.ingest.units import JointRange, guess_units

OnProgress = Callable[[float], None]


@dataclass(frozen=True)
class InspectConfig:
    """How much to look at."""

    spread_episodes: int = 8
    """Episodes from which a few frames are decoded."""
    frames_per_episode: int = 4
    """Frames per such episode and camera."""
    window_episodes: int = 6
    """Episodes from which a run of consecutive frames is decoded."""
    window_frames: int = 64
    """Longest such run."""
    max_shift_s: float = 0.6
    """Largest clock offset or actuator lag that is looked for [s]."""


@dataclass
class _Numbers:
    """What the first pass keeps of the log."""

    ranges: JointRange
    extremes: Extremes
    summaries: list[EpisodeSummary] = field(default_factory=list)
    clocks: list[EpisodeClock] = field(default_factory=list)


def inspect(
    source: Source,
    config: InspectConfig,
    *,
    robot_joints: tuple[RobotJoint, ...] | None,
    on_progress: OnProgress = lambda fraction: None,
) -> Inspection:
    """Look at a log. `robot_joints` are those of the robot model, None without one."""
    layout = source.layout
    findings: list[Finding] = []
    source.check_files(findings.append)
    numbers = _read_numbers(source, findings, lambda part: on_progress(0.3 * part))
    units = _units(source, numbers.ranges, robot_joints)
    findings += check_joints(layout, numbers.ranges, numbers.extremes, units, robot_joints)
    report = clock_report(numbers.clocks)
    looks, estimates = _look(source, config, numbers, report, findings, lambda part: on_progress(0.3 + 0.7 * part))
    robot_moves = bool((numbers.ranges.motion > 0).any())
    for look in looks.values():
        findings += check_camera(look, robot_moves=robot_moves)
    findings += _calibration_findings(source)
    return Inspection(
        source=source.root.name,
        format=layout.format,
        robot_type=layout.robot_type,
        episodes=tuple(numbers.summaries),
        streams=_streams(source, report, units),
        units=units,
        estimates=tuple(estimates),
        findings=tuple(sorted(findings, key=lambda f: list(Severity).index(f.severity))),
        decoded_frame_count=sum(len(look.spread) + sum(map(len, look.windows)) for look in looks.values()),
    )


def _read_numbers(source: Source, findings: list[Finding], on_progress: OnProgress) -> _Numbers:
    layout = source.layout
    width = len(layout.joint_names)
    numbers = _Numbers(JointRange.none(width), Extremes.none(width))
    for i, raw in enumerate(source.episodes(findings.append)):
        clock = episode_clock(raw.times_s)
        check_numbers(raw, layout, findings.append)
        if layout.rate_hz is not None:
            check_clock(raw, clock, findings.append)
        before = numbers.ranges.motion
        numbers.ranges = numbers.ranges.with_episode(raw.state)
        numbers.extremes = numbers.extremes.with_episode(raw)
        motion = float((numbers.ranges.motion - before).sum())
        duration = float(raw.times_s[-1] - raw.times_s[0]) if len(raw.times_s) else 0.0
        numbers.summaries.append(EpisodeSummary(raw.id, raw.task, raw.kind.value, len(raw.times_s), duration, motion))
        numbers.clocks.append(clock)
        on_progress((i + 1) / max(source.episode_count(), 1))
    return numbers


def _units(source: Source, ranges: JointRange, robot_joints: tuple[RobotJoint, ...] | None) -> tuple[UnitGuess, ...]:
    layout = source.layout
    by_name = {joint.name: joint for joint in robot_joints or ()}
    matched = match_joints(layout.joint_names, tuple(by_name))
    return guess_units(
        layout.joint_names,
        ranges,
        robot_type=layout.robot_type,
        declared=layout.declared_scales,
        model_joints={logged: by_name[model] for logged, model in matched.items()},
    )


def _look(
    source: Source,
    config: InspectConfig,
    numbers: _Numbers,
    report: ClockReport,
    findings: list[Finding],
    on_progress: OnProgress,
) -> tuple[dict[str, CameraLook], list[Estimate]]:
    """Decode the sample, and read camera offsets and actuator lag off it."""
    sample = _Sample(source, config, numbers, 1.0 / report.rate_hz if report.rate_hz else 1.0)
    for done, raw in enumerate(_episodes(source, sample.spread | sample.moving)):
        try:
            for stream in raw.streams:
                sample.look(raw, stream.camera)
        except SourceError as error:
            findings.append(Finding("undecodable-frames", Severity.ERROR, error.problem, error.remedy, episode=raw.id))
        sample.time_actions(raw)
        on_progress((done + 1) / max(len(sample.spread | sample.moving), 1))
    estimates, timing_findings = sample.timing()
    findings += timing_findings
    return sample.looks, estimates


class _Sample:
    """The episodes that are looked at, and what has been seen so far."""

    def __init__(self, source: Source, config: InspectConfig, numbers: _Numbers, period_s: float) -> None:
        self._source, self._config, self._period_s = source, config, period_s
        self._scale = numbers.ranges.high - numbers.ranges.low
        self._max_shift_s = _max_shift(numbers, config)
        self.spread = _spread_ids(numbers.summaries, config.spread_episodes)
        self.moving = _moving_ids(numbers.summaries, config.window_episodes)
        self.looks = {camera.name: CameraLook(camera.name) for camera in source.layout.cameras}
        self._offsets: dict[str, dict[str, Window]] = {name: {} for name in self.looks}
        self._lags: list[Window] = []

    def look(self, raw: RawEpisode, camera: str) -> None:
        """Decode this camera's share of one episode."""
        look = self.looks[camera]
        if raw.id in self.spread:
            places = np.linspace(0, len(raw.times_s) - 1, self._config.frames_per_episode).astype(int)
            look.spread += _frames(self._source, raw, camera, np.unique(places).tolist())
        if raw.id in self.moving:
            steps = _window_steps(raw, self._scale, self._config.window_frames)
            frames = _frames(self._source, raw, camera, steps)
            look.windows.append(frames)
            offset = self._offset(raw, frames)
            self._offsets[camera] |= {raw.id: offset} if offset else {}

    def time_actions(self, raw: RawEpisode) -> None:
        """Compare commands with motion in one episode."""
        if raw.id in self.moving:
            lag = action_window(raw, self._source.layout, self._scale, self._period_s, self._max_shift_s)
            self._lags += [lag] if lag else []

    def timing(self) -> tuple[list[Estimate], list[Finding]]:
        """Shifts between the streams, and what to say about them."""
        estimates, findings = camera_timing(self._offsets, self._period_s)
        lag = combine(self._lags)
        if lag is not None:
            estimates.append(estimate("action lag", "actions", lag))
            findings += check_lag(lag, self._period_s)
        return estimates, findings

    def _offset(self, raw: RawEpisode, frames: list[FrameLook]) -> Window | None:
        """Image change against joint speeds in one run of frames."""
        if len(frames) < 9 or not raw.state.shape[1]:
            return None
        times, velocity = joint_velocity(raw.times_s, raw.state, self._scale)
        stamps = np.array([frame.time_s for frame in frames])
        changes = np.array([change(a, b) for a, b in pairwise(frames)])
        return window(
            times,
            np.abs(velocity),
            0.5 * (stamps[1:] + stamps[:-1]),
            (changes / np.maximum(np.diff(stamps), 1e-9))[:, None],
            period_s=self._period_s,
            max_shift_s=self._max_shift_s,
        )


def _max_shift(numbers: _Numbers, config: InspectConfig) -> float:
    """Largest shift to look for: the configured one, less where episodes are short."""
    durations = [summary.duration_s for summary in numbers.summaries if summary.motion > 0]
    return min(config.max_shift_s, 0.2 * float(np.median(durations))) if durations else config.max_shift_s


def _frames(source: Source, raw: RawEpisode, camera: str, steps: list[int]) -> list[FrameLook]:
    stream = next(s for s in raw.streams if s.camera == camera)
    images = raw_images(source.root, stream, raw.times_s, steps)
    return [look_at(image, episode=raw.id, step=step, time_s=float(raw.times_s[step])) for step, image in images]


def _window_steps(raw: RawEpisode, scale: Float[np.ndarray, " joint"], longest: int) -> list[int]:
    """The run of steps with the most varied speed."""
    count = len(raw.times_s)
    if count <= longest or not raw.state.shape[1]:
        return list(range(min(count, longest)))
    speed = np.linalg.norm(joint_velocity(raw.times_s, raw.state, scale)[1], axis=1)
    starts = range(0, count - longest, max(1, longest // 4))
    best = max(starts, key=lambda start: float(np.std(speed[start : start + longest])))
    return list(range(best, best + longest))


def _episodes(source: Source, ids: set[str]) -> Iterator[RawEpisode]:
    for raw in source.episodes(lambda finding: None):
        if raw.id in ids and len(raw.times_s) > 1 and np.isfinite(raw.state).all():
            yield raw


def _spread_ids(summaries: list[EpisodeSummary], count: int) -> set[str]:
    if not summaries:
        return set()
    places = np.unique(np.linspace(0, len(summaries) - 1, count).astype(int))
    return {summaries[i].id for i in places}


def _moving_ids(summaries: list[EpisodeSummary], count: int) -> set[str]:
    moving = sorted((s for s in summaries if s.motion > 0), key=lambda s: -s.motion / max(s.step_count, 1))
    return {s.id for s in moving[:count]}


def _streams(source: Source, report: ClockReport, units: tuple[UnitGuess, ...]) -> tuple[StreamSummary, ...]:
    layout = source.layout
    rate, jitter = (report.rate_hz, report.jitter_s) if layout.rate_hz else (0.0, 0.0)
    rows = []
    if layout.joint_names:
        shown = sorted({unit.unit + ("" if unit.is_declared else "?") for unit in units})
        rows.append(StreamSummary("joints", "joints", str(len(layout.joint_names)), rate, jitter, ", ".join(shown)))
    if layout.action_names:
        rows.append(StreamSummary("actions", "actions", str(len(layout.action_names)), rate, jitter, ""))
    rows += [
        StreamSummary(c.name, "camera", f"{c.width}x{c.height}", rate, jitter, layout.codec_from_camera.get(c.name, ""))
        for c in layout.cameras
    ]
    rows += [
        StreamSummary(c.name, "depth", f"{c.width}x{c.height}", rate, jitter, layout.depth_from_camera[c.name])
        for c in layout.cameras
        if c.name in layout.depth_from_camera
    ]
    rows += [StreamSummary(n, "extra", str(w), rate, jitter, "as logged") for n, w in layout.extras.items()]
    return tuple(rows)


def _calibration_findings(source: Source) -> list[Finding]:
    findings = []
    for camera in source.layout.cameras:
        if camera.is_calibrated:
            continue
        lacks = "intrinsics" if camera.model is None else "a mounting pose"
        findings.append(
            Finding(
                "missing-calibration", Severity.WARNING, f"Camera {camera.name!r} has no {lacks} in the log.",
                f"give a guess in twin.toml [cameras.{camera.name}]; reconstruction refines it",
                stream=camera.name,
            )
        )  # fmt: skip
    if source.layout.rate_hz is None:
        findings.append(
            Finding("no-clock", Severity.NOTE, "The log has no time stamps: views are only ordered.",
                    "fine for a scan; motion cannot be timed")
        )  # fmt: skip
    return findings
