"""How far two real episodes with the same start and the same actions are apart: no twin can do better."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.artifacts.episode import Episode
from gemel.artifacts.evidence import Curve
from gemel.artifacts.track import Track
from gemel.geometry import SE3
from gemel.services.kinematics.arms import ALL
from gemel.stages.evaluate.joint_error import JointMeasure, joint_errors
from gemel.stages.evaluate.object_error import pose_errors, seen


def is_repeat(first: Episode, second: Episode, tolerance: float) -> bool:
    """Whether the actions of two episodes are the same but for a part `tolerance` of their spread.

    They are compared at common times, so that samples that one recorder lost do not matter; nine tenths of the longer
    one must have a counterpart.
    """
    if not first.actions.shape[1] or min(len(first.actions), len(second.actions)) < 2:
        return False
    one, two = _common_rows(first.times_s, second.times_s)
    if len(one) < 0.9 * max(len(first.actions), len(second.actions)):
        return False
    spread = np.concatenate([first.actions, second.actions]).std(axis=0)
    moving = spread > 0.0
    apart = (first.actions[one] - second.actions[two])[:, moving] / spread[moving]
    return bool(np.sqrt(np.mean(apart**2)) < tolerance) if moving.any() else True


def _common_rows(
    first_s: Float[np.ndarray, " t"], second_s: Float[np.ndarray, " n"]
) -> tuple[Int[np.ndarray, " common"], Int[np.ndarray, " common"]]:
    """Samples of both that belong together: each other's nearest, less than half a period apart."""
    theirs, ours = _nearest(second_s, first_s), _nearest(first_s, second_s)
    period_s = min(np.median(np.diff(first_s)), np.median(np.diff(second_s)))
    near = np.abs(first_s - second_s[theirs]) < 0.5 * period_s
    rows = np.flatnonzero(near & (ours[theirs] == np.arange(len(first_s))))
    return rows, theirs[rows]


def _nearest(times_s: Float[np.ndarray, " t"], wanted_s: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Row of the nearest of at least two times."""
    after = np.clip(np.searchsorted(times_s, wanted_s), 1, len(times_s) - 1)
    return np.where(wanted_s - times_s[after - 1] <= times_s[after] - wanted_s, after - 1, after)


def repeat_curves(
    first: Episode, second: Episode, tracks: Sequence[tuple[Track, Track]], measures: Sequence[JointMeasure]
) -> list[Curve]:
    """Differences over time between two such episodes: of joints, and of objects that were tracked in both.

    At times of the first that lie within those of the second; what has none is left out.
    """
    name = f"{first.id} and {second.id}"
    curves = []
    rows = _within(first.times_s, second.times_s)
    if measures and rows.any():
        times_s = first.times_s[rows]
        other = np.stack([np.interp(times_s, second.times_s, c) for c in second.joint_positions.T], axis=-1)
        errors = joint_errors(measures, other, first.joint_positions[rows])
        curves += [Curve(name, arm, "joints", "", "repeat", "", times_s, e) for arm, e in errors.items() if arm == ALL]
    for one, two in tracks:
        other_rows = seen(two)
        if min(seen(one).sum(), other_rows.sum()) < 2:
            continue
        rows = seen(one) & _within(one.times_s, two.times_s[other_rows])
        if not rows.any():
            continue
        times_s = one.times_s[rows]
        there = _at(two.Ts_world_object[other_rows], two.times_s[other_rows], times_s)
        position_m, rotation_rad = pose_errors(there, one.Ts_world_object[rows])
        curves.append(Curve(name, one.object, "position", "m", "repeat", "", times_s, position_m))
        curves.append(Curve(name, one.object, "orientation", "deg", "repeat", "", times_s, np.degrees(rotation_rad)))
    return curves


def _within(times_s: Float[np.ndarray, " t"], other_s: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " t"]:
    """Which times are neither before the first nor after the last of the others."""
    return (times_s >= other_s[0]) & (times_s <= other_s[-1])


def _at(poses: SE3, times_s: np.ndarray, wanted_s: np.ndarray) -> SE3:
    """Poses at other times, between the tracked ones."""
    after = np.clip(np.searchsorted(times_s, wanted_s), 1, len(times_s) - 1)
    share = np.clip((wanted_s - times_s[after - 1]) / (times_s[after] - times_s[after - 1]), 0.0, 1.0)
    return poses[after - 1].interpolate(poses[after], share)
