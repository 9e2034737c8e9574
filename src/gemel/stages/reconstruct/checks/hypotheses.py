"""What may be wrong with a log as a whole, as alternatives that can be tried: would another reading explain it better?

Every camera has a score under a reading of the log: a fixed one by where the robot moves in its images, a moving one
by whether its views show one table. A mistake is named only if undoing it makes the scores of all concerned better.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, permutations

import numpy as np
from jaxtyping import Int

from gemel.artifacts.camera import WORLD
from gemel.services.kinematics.joint_log import JointLog
from gemel.stages.reconstruct.calibration.problem import Problem
from gemel.stages.reconstruct.calibration.robot_in_view import robot_mask
from gemel.stages.reconstruct.calibration.robot_rig import Poses, RobotRig
from gemel.stages.reconstruct.checks.robot_agreement import agreement, observed_change, predicted_change
from gemel.stages.reconstruct.checks.table_agreement import table_agreement

_FRAMES = 12
"""Frames of a fixed camera that are looked at."""
_MOVING_FRAMES = 60
"""Frames of a moving one: neighbours have to overlap."""
_FOCAL_SCALES = (0.5, 0.6, 0.7, 0.77, 0.85, 1.18, 1.3, 1.43, 1.7, 2.0)
_FEW_JOINTS = 4
"""Up to so many joints, all orders are tried; with more, exchanges of two, the reverse, and shifts by one."""


@dataclass(frozen=True)
class Reading:
    """One way to read the log; without arguments, as given."""

    code: str = ""
    """Finding that it would be, such as `swapped-cameras`."""
    concerned: tuple[int, ...] = ()
    """Cameras whose scores it changes; all if empty."""
    exchanged: Mapping[int, int] = field(default_factory=dict)
    """Cameras whose images are another one's."""
    mirrored: tuple[int, ...] = ()
    order: tuple[tuple[int, int], ...] = ()
    """(joint, column of the log that it takes instead), both as columns of the tree."""
    focal: Mapping[int, float] = field(default_factory=dict)
    """Scale of a camera's focal length."""


class LogUnderTest:
    """A calibration problem at the lab's beliefs, to be scored under readings."""

    def __init__(self, problem: Problem, table_height_m: float) -> None:
        self.problem, self.table_height_m = problem, table_height_m
        self.cameras = problem.rig.cameras

    @cached_property
    def given(self) -> dict[int, float]:
        """Scores of all cameras as the log is given; NaN where a camera tells nothing."""
        return self.scores(Reading())

    def scores(self, reading: Reading) -> dict[int, float]:
        """Scores of the cameras that a reading concerns."""
        camera = np.array([reading.exchanged.get(int(c), int(c)) for c in self.problem.rig.views.camera])
        poses = self._poses(reading, camera)
        concerned = reading.concerned or range(len(self.cameras))
        return {c: self._score(np.flatnonzero(camera == c), c, reading, poses) for c in concerned}

    def _poses(self, reading: Reading, camera: Int[np.ndarray, " v"]) -> Poses:
        rig = self.problem.rig
        logs = [JointLog(log.times_s, _reordered(log.q, reading.order)) for log in rig.logs]
        views = replace(rig.views, camera=camera)
        poses = RobotRig(rig.tree, rig.cameras, logs, views, rig.unknowns).poses(np.zeros(len(rig.unknowns)))
        scale = np.array([reading.focal.get(int(c), 1.0) for c in camera])
        lens = poses.intrinsics * np.stack([scale, scale, np.ones_like(scale), np.ones_like(scale)], axis=-1)
        return replace(poses, intrinsics=lens)

    def _score(self, own: Int[np.ndarray, " n"], c: int, reading: Reading, poses: Poses) -> float:
        most = _FRAMES if self.is_fixed(c) else _MOVING_FRAMES
        chosen = np.unique(np.linspace(0, len(own) - 1, min(most, len(own))).round().astype(int))
        views = [int(v) for v in own[chosen]]
        images = [self._flipped(self.problem.images[v], c in reading.mirrored) for v in views]
        if self.is_fixed(c):
            predicted = predicted_change(self.problem.surface, poses, views, images[0].shape[:2])
            return agreement(observed_change(images), predicted)
        free = [
            self._flipped(~self.problem.occupied[v], c in reading.mirrored)
            & ~robot_mask(self.problem.surface, poses, v, images[0].shape[:2], margin_px=4)
            for v in views
        ]
        return table_agreement(images, free, poses, views, self.table_height_m)

    def is_fixed(self, c: int) -> bool:
        """Whether a camera stands in the world."""
        return self.cameras[c].parent == WORLD

    @staticmethod
    def _flipped(image: np.ndarray, is_mirrored: bool) -> np.ndarray:
        return image[:, ::-1] if is_mirrored else image


def readings(log: LogUnderTest) -> list[Reading]:
    """All mistakes that are tried."""
    count = range(len(log.cameras))
    found = [
        Reading("swapped-cameras", (a, b), exchanged={a: b, b: a})
        for a, b in combinations(count, 2)
        if (log.cameras[a].width, log.cameras[a].height) == (log.cameras[b].width, log.cameras[b].height)
    ]
    found += [Reading("mirrored-images", (c,), mirrored=(c,)) for c in count]
    fixed = tuple(c for c in count if log.is_fixed(c))
    found += [Reading("joint-order", fixed, order=order) for order in _orders(log)]
    return found + [Reading("wrong-intrinsics", (c,), focal={c: scale}) for c in fixed for scale in _FOCAL_SCALES]


def _orders(log: LogUnderTest) -> list[tuple[tuple[int, int], ...]]:
    """Other orders of the hinges whose readings were logged; each differs in at least one place."""
    rig = log.problem.rig
    columns = [rig.tree.joint(name) for name in rig.unknowns.joints]
    if len(columns) <= _FEW_JOINTS:
        orders = [list(order) for order in permutations(columns)][1:]
    else:
        orders = [_exchanged(columns, a, b) for a, b in combinations(range(len(columns)), 2)]
        orders += [columns[::-1], columns[1:] + columns[:1], columns[-1:] + columns[:-1]]
    return [tuple((a, b) for a, b in zip(columns, order, strict=True) if a != b) for order in orders]


def _exchanged(columns: list[int], a: int, b: int) -> list[int]:
    order = list(columns)
    order[a], order[b] = order[b], order[a]
    return order


def _reordered(q: np.ndarray, order: tuple[tuple[int, int], ...]) -> np.ndarray:
    result = q.copy()
    for joint, column in order:
        result[:, joint] = q[:, column]
    return result
