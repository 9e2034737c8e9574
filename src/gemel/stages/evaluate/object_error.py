"""How far simulated objects are from tracked ones, and where both start."""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.track import Track
from gemel.geometry import SE3

_MOVED = 4.0
"""An object has moved when it is this many standard deviations of its track away from its start."""


def pose_errors(predicted: SE3, tracked: SE3) -> tuple[Float[np.ndarray, "*batch"], Float[np.ndarray, "*batch"]]:
    """Distance [m] and angle [rad] between poses."""
    distance = np.linalg.norm(predicted.translation - tracked.translation, axis=-1)
    return distance, np.asarray(predicted.rotation.angle_to(tracked.rotation))


def seen(track: Track) -> Bool[np.ndarray, " t"]:
    """Frames in which the object's pose is known."""
    return ~track.is_lost & np.isfinite(track.times_s)


def seen_from(track: Track, start_s: float) -> Track:
    """The track cut to the frames from a time on in which the object's pose is known."""
    rows = seen(track) & (track.times_s >= start_s)
    return replace(
        track, times_s=track.times_s[rows], Ts_world_object=track.Ts_world_object[rows],
        covariances=track.covariances[rows], is_lost=track.is_lost[rows],
    )  # fmt: skip


def first_motion(track: Track) -> int | None:
    """The first seen frame from which on the object is away from its start; None for one that never moves."""
    rows = np.flatnonzero(seen(track))
    if len(rows) < 2:
        return None
    poses = track.Ts_world_object[rows]
    away = np.abs((poses[0].inverse() @ poses).log())
    turn = poses.inverse().adjoint()
    variance = np.einsum("tij,tjk,tik->ti", turn, track.covariances[rows], turn)
    is_away = np.any(away > _MOVED * np.sqrt(np.maximum(variance, 1e-14)), axis=1)
    if not is_away[-1]:
        stays = np.flatnonzero(is_away)
        return int(rows[stays[0]]) if len(stays) else None
    still = np.flatnonzero(~is_away)
    return int(rows[still[-1] + 1]) if len(still) else int(rows[0])
