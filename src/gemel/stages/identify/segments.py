"""Pieces of a track in which the object moves, each with the state that it starts from: multiple shooting.

A piece starts, where it can, from rest: the pose is then a mean over several frames and the velocity is zero. Long
motions are cut, so that what a model cannot follow does not add up over a whole episode; a piece that starts in motion
takes pose and velocity from a parabola through the frames around it: a line would put a block that is being pushed, and
so speeds up or slows down, millimetres into the tool or away from it.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.track import Track
from gemel.errors import SourceError
from gemel.geometry import SE3

_REST_FRAMES = 5
_AROUND_S = 0.21
"""Frames up to so long before and after a start in motion tell its state [s]."""
_BEFORE, _AFTER = 1, 2
"""Frames of rest that a piece has at its ends."""
_MOVED = 4.0
"""An object counts as moving when it moves by so many standard deviations of the track over two frames."""


@dataclass(frozen=True, eq=False)
class Segment:
    """One piece of a track."""

    episode: str
    start_s: float
    T_world_object: SE3
    """At the start."""
    velocity: Float[np.ndarray, "6"]
    """At the start, along the axes of the object [m/s, rad/s]."""
    times_s: Float[np.ndarray, " t"]
    """Of the frames to be predicted, all after the start."""
    Ts_world_object: SE3
    """Tracked at those times."""
    scales: Float[np.ndarray, "t 6"]
    """Expected error of each component in the object's axes: of the track, and of any model over the way gone."""


def find_segments(track: Track, *, longest_s: float, model_error: float) -> tuple[Segment, ...]:
    """All pieces of a track in which the object moves; `model_error` is the part of the way that a model may miss."""
    seen = ~track.is_lost & np.isfinite(track.times_s)
    if seen.sum() < _BEFORE + _AFTER + 1:
        raise SourceError(
            f"The track of {track.object!r} in episode {track.episode} has {int(seen.sum())} frames in which it is "
            f"seen, of {len(seen)}; at least {_BEFORE + _AFTER + 1} are needed.",
            remedy="track it again with more cameras or a higher rate, or leave this episode out",
        )
    times_s, poses = track.times_s[seen], track.Ts_world_object[seen]
    sd = _object_frame_sd(poses, track.covariances[seen])
    moving = _is_moving(poses, sd)
    gap_s = 4.0 * float(np.median(np.diff(times_s)))
    found = []
    for first, last in _runs(moving, times_s, longest_s=longest_s, gap_s=gap_s):
        around = _around(moving, times_s, first)
        found.append(_segment(track.episode, times_s, poses, sd, (first, last), around, model_error))
    return tuple(found)


def _object_frame_sd(poses: SE3, covariances: Float[np.ndarray, "t 6 6"]) -> Float[np.ndarray, "t 6"]:
    """Standard deviations in the object's axes, from covariances of the left perturbation."""
    turn = poses.inverse().adjoint()
    return np.sqrt(np.maximum(np.einsum("tij,tjk,tik->ti", turn, covariances, turn), 1e-14))


def _is_moving(poses: SE3, sd: Float[np.ndarray, "t 6"]) -> Bool[np.ndarray, " t"]:
    """Frames around which the object changes its pose by more than the track's error."""
    count = len(sd)
    before, after = np.maximum(np.arange(count) - 1, 0), np.minimum(np.arange(count) + 1, count - 1)
    moved = np.abs((poses[before].inverse() @ poses[after]).log())
    return np.asarray(np.any(moved > _MOVED * sd, axis=1))


def _runs(
    moving: Bool[np.ndarray, " t"], times_s: Float[np.ndarray, " t"], *, longest_s: float, gap_s: float
) -> list[tuple[int, int]]:
    """First and last frame of each piece; no piece reaches over a gap in the track."""
    breaks = np.concatenate([[0], np.flatnonzero(np.diff(times_s) > gap_s) + 1, [len(times_s)]])
    found = []
    for low, high in zip(breaks[:-1].tolist(), breaks[1:].tolist(), strict=True):
        first = low
        while first < high:
            if not moving[first]:
                first += 1
                continue
            end = first
            while end + 1 < high and moving[min(end + 1, high - 1) : min(end + 3, high)].any():
                end += 1
            found += _cut(max(low, first - _BEFORE), min(high - 1, end + _AFTER), times_s, longest_s)
            first = end + 1
    return found


def _cut(first: int, last: int, times_s: Float[np.ndarray, " t"], longest_s: float) -> list[tuple[int, int]]:
    """Equal parts, none longer than `longest_s`."""
    parts = max(1, int(np.ceil((times_s[last] - times_s[first]) / longest_s)))
    ends = np.linspace(first, last, parts + 1).round().astype(int)
    return [(int(a), int(b)) for a, b in itertools.pairwise(ends) if b - a >= 2]


def _around(moving: Bool[np.ndarray, " t"], times_s: Float[np.ndarray, " t"], first: int) -> slice:
    """Frames that tell the state at `first`: those of rest up to it, or some before and after it."""
    if moving[first]:
        half_s = max(_AROUND_S, 1.05 * float(np.median(np.diff(times_s))))  # one frame each way, but over no gap
        low, high = np.searchsorted(times_s, times_s[first] + np.array([-half_s, half_s])).tolist()
        return slice(low, high)
    start = first
    while start > max(0, first - _REST_FRAMES + 1) and not moving[start - 1]:
        start -= 1
    return slice(start, first + 1)


def _segment(
    episode: str,
    times_s: Float[np.ndarray, " t"],
    poses: SE3,
    sd: Float[np.ndarray, "t 6"],
    ends: tuple[int, int],
    around: slice,
    model_error: float,
) -> Segment:
    first, last = ends
    is_resting = around.stop == first + 1
    logs = (poses[first].inverse() @ poses[around]).log()
    shift, velocity, part = _state(times_s[around] - times_s[first], logs, degree=0 if is_resting else 2)
    start = poses[first] @ SE3.exp(shift)
    rows = slice(first + 1, last + 1)
    steps = np.abs((poses[first:last].inverse() @ poses[rows]).log())
    steps[steps < 2.0 * sd[rows]] = 0.0  # jitter at rest is no way gone
    way = np.cumsum(steps, axis=0)
    # A model that misses a part of the way misses it in any direction.
    gone = np.concatenate([np.repeat(np.linalg.norm(way[:, k : k + 3], axis=1)[:, None], 3, axis=1) for k in (0, 3)], 1)
    scales = np.sqrt(sd[rows] ** 2 * (1.0 + part) + (model_error * gone) ** 2)
    return Segment(episode, float(times_s[first]), start, velocity, times_s[rows], poses[rows], scales)


def _state(
    elapsed_s: Float[np.ndarray, " n"], logs: Float[np.ndarray, "n 6"], *, degree: int
) -> tuple[Float[np.ndarray, "6"], Float[np.ndarray, "6"], float]:
    """Place and velocity at time 0 of a polynomial through motions; which part of their variance the place has."""
    powers = np.vander(elapsed_s, min(degree, len(logs) - 1) + 1, increasing=True)
    solve = np.linalg.pinv(powers)
    found = solve @ logs
    return found[0], found[1] if len(found) > 1 else np.zeros(6), float(np.sum(solve[0] ** 2))
