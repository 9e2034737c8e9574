"""One object through one episode: found at the start, predicted and refined frame by frame, found again when lost."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.geometry import SE3
from gemel.services.render.renderer import Renderer
from gemel.services.tracking.detect import detect, overlap
from gemel.services.tracking.evidence import moved
from gemel.services.tracking.refine import FramePose, RefineConfig, refine
from gemel.services.tracking.resting import Resting
from gemel.services.tracking.tracked_object import TrackedObject
from gemel.services.tracking.view import View

Predict = Callable[[str, str, float], SE3 | None]
"""Where (episode, object) should be at a time [s], for the start of the search; None for constant velocity."""
MasksAt = Callable[[int], "Mapping[str, Bool[np.ndarray, 'h w']]"]
"""Masks of a step, by camera; empty where there are none."""
_LEAST_VISIBLE_PX = 60
_LEAST_VISIBLE = 0.12
_LEAST_OVERLAP = 0.6
"""Over what is typical of the episode so far: below, the object is not where it was drawn."""
_TELLING_OVERLAP = 0.35
"""If even good poses overlap less with what looks like the object, its colour tells nothing."""
_FARTHEST_M = 0.08
_FARTHEST_RAD = 0.9
"""What a frame may be from its prediction; beyond, it has caught something else."""


@dataclass(frozen=True, eq=False)
class Target:
    """What is followed, and how."""

    tracked: TrackedObject
    resting: Resting
    config: RefineConfig
    renderer: Renderer
    is_held_down: bool = True
    """Whether the prior that it rests on the table is used while following."""

    @property
    def prior(self) -> Resting | None:
        """The prior while following."""
        return self.resting if self.is_held_down else None


@dataclass(frozen=True, eq=False)
class Followed:
    """What was found in each frame."""

    poses: tuple[FramePose | None, ...]
    """None where the object was lost."""
    Ts_reference: Float[np.ndarray, "t 4 4"]
    """The same, with the last known pose where it was lost."""

    @property
    def is_lost(self) -> Bool[np.ndarray, " t"]:
        """Frames without a pose."""
        return np.array([pose is None for pose in self.poses])


def follow(
    target: Target,
    frames: Iterable[Sequence[View]],
    times_s: Float[np.ndarray, " t"],
    masks_at: MasksAt,
    predict: Callable[[float], SE3 | None],
    on_frame: Callable[[int], None] = lambda step: None,
) -> Followed | None:
    """The object in all frames of an episode; None if it was found in none."""
    poses: list[FramePose | None] = []
    typical: list[float] = []
    for step, views in enumerate(frames):
        start, velocity = _start(poses, times_s, predict(float(times_s[step])))
        pose = None
        if start is not None:
            pose = refine(
                target.tracked, views, start, velocity, target.config, renderer=target.renderer, resting=target.prior
            )
            pose = pose if _is_supported(target, pose, start, views, typical) else None
        if pose is None:
            pose = detect(
                target.tracked, views, masks_at(step), target.resting, target.config, renderer=target.renderer
            )
            pose = pose if pose is not None and _is_supported(target, pose, None, views, typical) else None
        if pose is not None:
            typical.append(_overlaps(target, pose.T_world_object, views))
        poses.append(pose)
        on_frame(step)
    return _with_references(poses)


def follow_again(
    target: Target,
    frames: Iterable[Sequence[View]],
    Ts_start: Float[np.ndarray, "t 4 4"],
    velocities: Float[np.ndarray, "t 6"],
    first: Followed,
    on_frame: Callable[[int], None] = lambda step: None,
) -> Followed:
    """A second look at every frame that had a pose, from the smoothed one and with its velocity."""
    poses: list[FramePose | None] = []
    for step, views in enumerate(frames):
        pose = None
        if first.poses[step] is not None:
            pose = refine(
                target.tracked, views, Ts_start[step], velocities[step], target.config, renderer=target.renderer,
                resting=target.prior,
            )  # fmt: skip
        poses.append(pose)
        on_frame(step)
    again = _with_references(poses)
    assert again is not None
    return again


def _start(
    poses: Sequence[FramePose | None], times_s: Float[np.ndarray, " t"], predicted: SE3 | None
) -> tuple[np.ndarray | None, np.ndarray]:
    """Where to look for the object in the next frame, and its velocity: as predicted, else by constant velocity."""
    known = [t for t, pose in enumerate(poses) if pose is not None]
    velocity = np.zeros(6)
    if not known:
        return (None if predicted is None else predicted.as_matrix()), velocity
    last = poses[known[-1]]
    assert last is not None
    now_s = float(times_s[len(poses)])
    if len(known) > 1 and known[-1] == len(poses) - 1 and known[-2] == len(poses) - 2:
        before = poses[known[-2]]
        assert before is not None
        velocity = _difference(before.T_world_object, last.T_world_object) / (times_s[known[-1]] - times_s[known[-2]])
    if predicted is not None:
        return predicted.as_matrix(), velocity
    return moved(last.T_world_object, velocity * (now_s - float(times_s[known[-1]]))), velocity


def _difference(first: Float[np.ndarray, "4 4"], second: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "6"]:
    turn = SE3.from_matrix(second).rotation @ SE3.from_matrix(first).rotation.inverse()
    return np.concatenate([second[:3, 3] - first[:3, 3], turn.log()])


def _is_supported(
    target: Target, pose: FramePose, start: np.ndarray | None, views: Sequence[View], typical: Sequence[float]
) -> bool:
    """Whether enough of the object is seen, it has not jumped, and its outline covers what looks like it."""
    if pose.visible_px < _LEAST_VISIBLE_PX or pose.visible < _LEAST_VISIBLE or not np.isfinite(pose.sigma):
        return False
    if start is not None:
        leap = _difference(start, pose.T_world_object)
        if np.linalg.norm(leap[:3]) > _FARTHEST_M or np.linalg.norm(leap[3:]) > _FARTHEST_RAD:
            return False
    usual = float(np.median(typical)) if typical else _TELLING_OVERLAP
    return usual < _TELLING_OVERLAP or _overlaps(target, pose.T_world_object, views) >= _LEAST_OVERLAP * usual


def _overlaps(target: Target, T_world_object: Float[np.ndarray, "4 4"], views: Sequence[View]) -> float:
    return max(overlap(target.tracked, view, T_world_object) for view in views)


def _with_references(poses: Sequence[FramePose | None]) -> Followed | None:
    first = next((pose for pose in poses if pose is not None), None)
    if first is None:
        return None
    references, last = [], first.T_world_object
    for pose in poses:
        last = last if pose is None else pose.T_world_object
        references.append(last)
    return Followed(tuple(poses), np.stack(references))
