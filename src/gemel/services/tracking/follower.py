"""One object followed frame by frame: found at the start, predicted and refined, found again when lost.

Frames come one at a time, so that the same follower serves a log and a live twin.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
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

MasksNow = Callable[[], "Mapping[str, Bool[np.ndarray, 'h w']]"]
"""Masks of this frame, by camera; asked for only where the object was lost."""
_LEAST_VISIBLE_PX = 60
_LEAST_VISIBLE = 0.12
_LEAST_OVERLAP = 0.6
"""Over what has been typical so far: below, the object is not where it was drawn."""
_TELLING_OVERLAP = 0.35
"""If even good poses overlap less with what looks like the object, its colour tells nothing."""
_REMEMBERED = 600
"""Frames over which overlaps are typical: a live twin runs for hours."""
_AT_REST_M_S = 0.01
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


class Follower:
    """What one object did so far, as far as the next frame needs it."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.velocity: Float[np.ndarray, "6"] = np.zeros(6)
        """Over the last two frames [m/s, rad/s], along the world's axes; zero right after a loss."""
        self._last: tuple[float, np.ndarray] | None = None
        self._typical: deque[float] = deque(maxlen=_REMEMBERED)
        self._is_lost = True
        self._sigma = 0.0
        """Of the residuals in the last frame."""

    @property
    def _is_at_rest(self) -> bool:
        return not self._is_lost and float(np.linalg.norm(self.velocity[:3])) < _AT_REST_M_S

    def step(
        self,
        views: Sequence[View],
        time_s: float,
        masks: MasksNow = dict,
        predicted: SE3 | None = None,
    ) -> FramePose | None:
        """The pose in the next frame, or None where it is lost; the search starts where it is `predicted`, if it is."""
        target, start = self.target, self._start(time_s, predicted)
        pose = None
        if start is not None:
            pose = refine(
                target.tracked, views, start, self.velocity, target.config, renderer=target.renderer,
                resting=target.prior, usual_sigma=self._sigma if self._is_at_rest else 0.0,
            )  # fmt: skip
            pose = self._if_supported(pose, start, views)
        if pose is None:
            pose = detect(target.tracked, views, masks(), target.resting, target.config, renderer=target.renderer)
            pose = self._if_supported(pose, None, views)
        self._remember(pose, time_s)
        return pose

    def _start(self, time_s: float, predicted: SE3 | None) -> Float[np.ndarray, "4 4"] | None:
        """Where to look: as predicted, else by constant velocity."""
        if predicted is not None:
            return predicted.as_matrix()
        if self._last is None:
            return None
        last_s, T = self._last
        return moved(T, self.velocity * (time_s - last_s))

    def _remember(self, pose: FramePose | None, time_s: float) -> None:
        if pose is None:
            self.velocity, self._is_lost = np.zeros(6), True
            return
        if self._last is not None and not self._is_lost:
            before_s, before = self._last
            self.velocity = _difference(before, pose.T_world_object) / (time_s - before_s)
        self._last, self._is_lost, self._sigma = (time_s, pose.T_world_object), False, pose.sigma

    def _if_supported(
        self, pose: FramePose | None, start: np.ndarray | None, views: Sequence[View]
    ) -> FramePose | None:
        """The pose if enough of the object is seen, it has not jumped, and its outline covers what looks like it."""
        if pose is None or pose.visible_px < _LEAST_VISIBLE_PX or pose.visible < _LEAST_VISIBLE:
            return None
        if not np.isfinite(pose.sigma):
            return None
        if start is not None:
            leap = _difference(start, pose.T_world_object)
            if np.linalg.norm(leap[:3]) > _FARTHEST_M or np.linalg.norm(leap[3:]) > _FARTHEST_RAD:
                return None
        usual = float(np.median(self._typical)) if self._typical else _TELLING_OVERLAP
        covered = max(overlap(self.target.tracked, view, pose.T_world_object) for view in views)
        if usual >= _TELLING_OVERLAP and covered < _LEAST_OVERLAP * usual:
            return None
        self._typical.append(covered)
        return pose


def _difference(first: Float[np.ndarray, "4 4"], second: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "6"]:
    turn = SE3.from_matrix(second).rotation @ SE3.from_matrix(first).rotation.inverse()
    return np.concatenate([second[:3, 3] - first[:3, 3], turn.log()])
