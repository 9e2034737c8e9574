"""One held-out episode beside its replays: every error over time, and one number of each kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gemel.artifacts.episode import Episode
from gemel.artifacts.evidence import Curve
from gemel.artifacts.track import Track
from gemel.geometry import SE3
from gemel.services.sim.joint_path import JointPath
from gemel.services.sim.laid_down import laid_down
from gemel.stages.evaluate.bands import error_band, is_inside_band
from gemel.stages.evaluate.config import EvaluateConfig
from gemel.stages.evaluate.divergence_time import FollowTime, follow_time
from gemel.stages.evaluate.joint_error import JointMeasure, joint_errors
from gemel.stages.evaluate.object_error import first_motion, pose_errors, seen, seen_from
from gemel.stages.evaluate.replay import LOGGED, Replay, TwinReplay
from gemel.stages.evaluate.tool_error import Tool, tool_errors


class Key(NamedTuple):
    """What a number is about."""

    name: str
    unit: str
    subject: str
    physics: str
    drive: str


@dataclass(eq=False)
class Compared:
    """What one episode showed."""

    episode: str
    curves: list[Curve] = field(default_factory=list)
    values: dict[Key, float] = field(default_factory=dict)
    follow_times: dict[tuple[str, str, str], FollowTime] = field(default_factory=dict)
    """By object, physics and drive."""
    still: list[str] = field(default_factory=list)
    """Objects that do not move in this episode."""
    left_out: list[str] = field(default_factory=list)
    """Objects seen in fewer than two frames from the replay's start on."""
    gaps: list[tuple[float, float]] = field(default_factory=list)
    """Between the two ways to the tool [m, rad]."""
    diverged: int = 0
    """Simulations that broke down."""


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What every episode is measured with."""

    physics: Mapping[str, TwinReplay]
    """By name: posterior, prior, nominal."""
    rest: Mapping[str, SE3]
    """`T_world_object` at rest on the table, by object."""
    measures: Sequence[JointMeasure]
    tools: Sequence[Tool]
    config: EvaluateConfig


def compare(
    yardstick: Yardstick,
    episode: Episode,
    tracks: Sequence[Track],
    paths: Mapping[str, JointPath],
    rng: np.random.Generator,
) -> Compared:
    """Replay an episode under each physics with each drive, and hold it against the record.

    It starts when the last of the objects has been seen; where the others were before that is not compared.
    """
    found = Compared(episode.id)
    starts = [float(track.times_s[seen(track)][0]) for track in tracks if seen(track).sum() > 1]
    start_s = max(starts, default=float(episode.times_s[0]))
    cut = [seen_from(track, start_s) for track in tracks]
    found.left_out = [track.object for track in cut if len(track.times_s) < 2]
    tracks = [_laid_down(track, yardstick.rest.get(track.object)) for track in cut if len(track.times_s) > 1]
    poses = {track.object: track.Ts_world_object[0] for track in tracks}
    end_s = max([float(episode.times_s[-1]), *(float(track.times_s[-1]) for track in tracks)])
    logged = paths[LOGGED]
    for name, replays in yardstick.physics.items():
        for drive, path in paths.items():
            replay = replays.run(path, drive, logged=logged, start_s=start_s, end_s=end_s, poses=poses)
            found.diverged += int(replay.is_diverged.sum())
            for track in tracks:
                _object(found, yardstick.config, replay, track, (name, drive), rng)
            _robot(found, yardstick, replay, episode, (name, drive), start_s)
    return found


def _laid_down(track: Track, T_world_rest: SE3 | None) -> Track:
    """The record as if the object had been seen first where a replay starts with it, lying on its support.

    `track` has only frames in which the object was seen.

    By as much as that differs from where it was seen, all of it is moved in the object's axes: record and replay have
    the same state to begin with, and what the tracker is off by in height and tilt is no error of physics.
    """
    T_world_seen = track.Ts_world_object[0]
    T_seen_laid = T_world_seen.inverse() @ laid_down(T_world_seen, T_world_rest)
    return replace(track, Ts_world_object=track.Ts_world_object @ T_seen_laid)


def _robot(
    found: Compared, yardstick: Yardstick, replay: Replay, episode: Episode, how: tuple[str, str], start_s: float
) -> None:
    """Errors of joints and tools at the log's own times."""
    rows = episode.times_s >= start_s
    if not yardstick.measures or not rows.any():
        return
    times_s, logged = episode.times_s[rows], episode.joint_positions[rows]
    joints = replay.joints_at(times_s)
    for arm, errors in joint_errors(yardstick.measures, joints, logged).items():
        _note(found, how, arm, ("joints", "joint_rmse", ""), times_s, errors)
    for tool in yardstick.tools:
        distance, angle = tool_errors(tool, joints, logged)
        arm = tool.arm.name
        _note(found, how, arm, ("tool_position", "tool_position_error", "m"), times_s, distance)
        _note(found, how, arm, ("tool_orientation", "tool_orientation_error", "deg"), times_s, np.degrees(angle))
        found.gaps.append(tool.gap(replay.scene, joints[0]))


def _object(
    found: Compared, config: EvaluateConfig, replay: Replay, track: Track, how: tuple[str, str],
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Errors of one object at the frames of `track`, in all of which it was seen."""
    times_s, tracked = track.times_s, track.Ts_world_object
    predicted = replay.poses_at(track.object, times_s)
    position_m, rotation_rad = pose_errors(predicted, tracked)
    name = track.object
    _note(found, how, name, ("position", "position_error", "m"), times_s, position_m)
    _note(found, how, name, ("orientation", "orientation_error", "deg"), times_s, np.degrees(rotation_rad))
    moves = first_motion(track)
    if len(position_m) > 1:
        inside = is_inside_band(predicted[1:], tracked, track.covariances, track.covariances[0], rng)
        # Before the first motion nothing is predicted: those frames make any belief look well calibrated.
        for end, rows in {"": inside, **({} if moves is None else {"_moving": inside[moves:]})}.items():
            found.values[Key(f"inside_band_position{end}", "", name, *how)] = float(rows[:, :3].mean())
            found.values[Key(f"inside_band_orientation{end}", "", name, *how)] = float(rows[:, 3:].mean())
    if moves is None:
        found.still = list(dict.fromkeys([*found.still, name]))
        return
    time = follow_time(
        times_s, position_m[0], rotation_rad[0], within_m=config.position_m,
        within_rad=float(np.radians(config.rotation_deg)), motion_s=float(track.times_s[moves]),
    )  # fmt: skip
    found.follow_times[name, how[0], how[1]] = time
    found.values[Key("follow_time", "s", name, *how)] = time.since_motion_s
    found.values[Key("divergence_time", "s", name, *how)] = time.since_start_s


def _note(
    found: Compared, how: tuple[str, str], subject: str, what: tuple[str, str, str],
    times_s: Float[np.ndarray, " t"], errors: Float[np.ndarray, "sim t"],
) -> None:  # fmt: skip
    """Keep a curve with its band, and the mean over time under the belief's mean."""
    quantity, name, unit = what
    low, high = error_band(errors[1:]) if len(errors) > 1 else (None, None)
    found.curves.append(Curve(found.episode, subject, quantity, unit, *how, times_s, errors[0], low, high))
    found.values[Key(name, unit, subject, *how)] = float(errors[0].mean())
