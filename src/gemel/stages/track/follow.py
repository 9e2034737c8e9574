"""One object through one episode, once, and again from the smoothed path."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Bool, Float

from gemel.geometry import SE3
from gemel.services.tracking.follower import Follower, Target
from gemel.services.tracking.refine import FramePose, refine
from gemel.services.tracking.view import View

Predict = Callable[[str, str, float], SE3 | None]
"""Where (episode, object) should be at a time [s], for the start of the search; None for constant velocity."""
MasksAt = Callable[[int], "Mapping[str, Bool[np.ndarray, 'h w']]"]
"""Masks of a step, by camera; empty where there are none."""


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
    follower = Follower(target)
    poses: list[FramePose | None] = []
    for step, views in enumerate(frames):
        time_s = float(times_s[step])
        poses.append(follower.step(views, time_s, partial(masks_at, step), predict(time_s)))
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


def _with_references(poses: Sequence[FramePose | None]) -> Followed | None:
    first = next((pose for pose in poses if pose is not None), None)
    if first is None:
        return None
    references, last = [], first.T_world_object
    for pose in poses:
        last = last if pose is None else pose.T_world_object
        references.append(last)
    return Followed(tuple(poses), np.stack(references))
