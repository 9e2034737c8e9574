"""Frames of trials with everything in them in place: the robot where the joint log says, objects where tracked."""

from collections.abc import Iterator, Sequence

import numpy as np

from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import EpisodeKind, EpisodeRecord
from gemel.artifacts.episode import Frames
from gemel.artifacts.split import FitData
from gemel.artifacts.track import Track, Tracks
from gemel.geometry import SE3
from gemel.services.kinematics.calibrated_robot import CalibratedRobot
from gemel.services.kinematics.joint_log import joint_log
from gemel.stages.assemble.bare_table import TrialFrame


def tracks_of(record: EpisodeRecord, tracks: Tracks) -> list[Track]:
    """What was tracked in an episode."""
    return [track for track in tracks.tracks if track.episode == record.id]


def tracked_trials(records: Sequence[EpisodeRecord], tracks: Tracks, most: int) -> list[EpisodeRecord]:
    """Trials in which something was tracked; at most so many, evenly chosen."""
    tracked = [record for record in records if record.kind is EpisodeKind.TASK and tracks_of(record, tracks)]
    return tracked[:: -(-len(tracked) // most) or 1]


def trial_frames(
    record: EpisodeRecord, camera: Camera, count: int, *, fit: FitData, tracks: Tracks, frames: Frames,
    robot: CalibratedRobot,
) -> Iterator[tuple[float, TrialFrame]]:  # fmt: skip
    """`count` evenly spaced moments of one episode as one camera saw them, with their stamps [s]; not its first."""
    episode = frames.episode(record.id)
    log = joint_log(robot.tree, fit.joints, episode.times_s, episode.joint_positions)
    steps = np.unique(np.linspace(0, len(episode.times_s) - 1, count + 1).round().astype(int)[1:])
    images = frames.images(record.id, camera.name, [int(step) for step in steps])
    for step, image in zip(steps, images, strict=True):
        stamp_s = float(episode.times_s[step])
        time_s = stamp_s + camera.time_offset_s
        links = robot.link_poses(log, np.array([time_s]))[0]
        objects = {track.object: pose_at(track, time_s).as_matrix() for track in tracks_of(record, tracks)}
        yield stamp_s, TrialFrame(camera.name, image.astype(np.float32) / np.float32(255.0), links, objects)


def pose_at(track: Track, time_s: float) -> SE3:
    """Where the object was at a time, between two of its poses; held before the first and after the last."""
    after = int(np.clip(np.searchsorted(track.times_s, time_s), 1, max(len(track.times_s) - 1, 1)))
    if len(track.times_s) == 1:
        return track.Ts_world_object[0]
    before_s, after_s = track.times_s[after - 1], track.times_s[after]
    part = float(np.clip((time_s - before_s) / (after_s - before_s), 0.0, 1.0))
    return track.Ts_world_object[after - 1].interpolate(track.Ts_world_object[after], part)
