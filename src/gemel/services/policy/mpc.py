"""Sampling-based control without training: imagine plans of several strokes, begin the best, look again at every step.

A stroke starts beside the object's outline, or where the tip is, and goes straight into it. What each does to it is
imagined for what is believed of its physics now (`stroke_library.py`); plans of up to three strokes, with the ways
between them, are then weighed by where they leave the object and how long they take (`stroke_plans.py`). The arm comes
late by a period, so plans begin where tip and object will be when the next command is carried out.
"""

import numpy as np
from jaxtyping import Float

from gemel.artifacts.task import Task
from gemel.services.policy.estimator import Estimator, Planar, Points
from gemel.services.policy.features import action_bound_m, to_object
from gemel.services.policy.push_belief import PushBelief, push_belief
from gemel.services.policy.push_outline import Outline
from gemel.services.policy.stroke_library import Strokes
from gemel.services.policy.stroke_plans import MpcConfig, StrokePlans
from gemel.services.sim.planar_push import PUSHER_RADIUS_M
from gemel.services.tasks import get_object

Point = Float[np.ndarray, "2"]
Pose = Float[np.ndarray, "3"]
_SAFE_M = 0.004
"""Clearance of a straight way [m]."""
_PATIENCE = 45
"""Steps after which a way to a stroke is given up."""
_SPARE_S = 0.15
"""Plans end so long before the time is up [s]."""


class StrokeControl:
    """One robot; answers as `PushController` does, for a single episode."""

    def __init__(self, task: Task, estimator: Estimator, config: MpcConfig | None = None) -> None:
        self.task, self.estimator, self._config = task, estimator, config or MpcConfig()
        self._outline = Outline.of(get_object(task.objects[0]), PUSHER_RADIUS_M)
        self._bound_m = action_bound_m(task)
        self.plans = 0
        self.start(1)

    @property
    def name(self) -> str:
        """What it is, for people."""
        return f"mpc for {self.task.name}"

    def start(self, count: int) -> None:
        """Begin an episode; one at a time."""
        assert count == 1, "strokes are planned for one robot"
        self._search = StrokePlans(self._outline, self.task, self._config)
        self._target: Point | None = None
        self._walk: tuple[Point, Point] | None = None
        """Start and direction of the stroke that the tip is on the way to, in the object's frame."""
        self._walked_steps, self._heading = 0, 0.0
        self._past, self._steps, self.plans = np.zeros((1, 2)), 0, 0
        self.estimator.start(1)

    def act(self, object_xyyaw: Planar, tip_xy: Points) -> Points:
        """The next displacement of the tip [m]."""
        self.estimator.update(object_xyyaw, tip_xy, self._past)
        if self._target is None:
            self._target = tip_xy[0].copy()
        belief = push_belief(self.estimator, self.task.objects[0])
        pose = self._soon(object_xyyaw[0], tip_xy[0], belief)
        place = to_object((self._target + belief.offset - pose[:2])[None], pose[2:])[0]
        step = self._walked(place)
        if step is None:
            step = self._decided(pose, place, belief)
        step = to_object(step[None], -pose[2:])[0]  # the other way round: `to_world` shortens
        step *= min(1.0, self._bound_m / max(float(np.abs(step).max()), 1e-9))
        self._target, self._past, self._steps = self._target + step, step[None], self._steps + 1
        return self._past

    def _soon(self, pose: Pose, tip: Point, belief: PushBelief) -> Pose:
        """Where the object will be when the tip has got to where it was sent last."""
        assert self._target is not None
        rows = (pose, tip + belief.offset, self._target + belief.offset, belief.physics)
        return np.asarray(self._outline.pushed(*(row[None] for row in rows))[0][0])

    def _walked(self, place: Point) -> Point | None:
        """A step on the way to a stroke's start, in the object's frame; None when there."""
        if self._walk is None:
            return None
        start, way = self._walk
        self._walked_steps += 1
        if np.linalg.norm(start - place) < 0.003 or self._walked_steps > _PATIENCE:
            self._heading, self._walk = float(np.arctan2(way[1], way[0])), None
            return None
        corner = self._next_corner(place, start)
        ahead = corner - place
        length = float(np.linalg.norm(ahead))
        return np.asarray(ahead * min(1.0, 1.4 * self._bound_m / max(length, 1e-9)))

    def _next_corner(self, place: Point, start: Point) -> Point:
        """The farthest place on the way to the start to which the tip can go straight."""
        way = np.concatenate([start[None], self._search.ring.between(place, start)[::-1]])
        parts = np.linspace(0.0, 1.0, 16)[1:]
        points = place + parts[None, :, None] * (way - place)[:, None]
        clear = self._outline.clearance_m(points.reshape(-1, 2)).reshape(len(way), -1)
        here = float(self._outline.clearance_m(place[None])[0])
        fine = np.all(clear > min(_SAFE_M, here + 0.001), axis=1)
        return np.asarray(way[int(np.argmax(fine))] if fine.any() else way[-1])

    def _decided(self, pose: Pose, place: Point, belief: PushBelief) -> Point:
        """The first step of the best plan, in the object's frame."""
        near = self._heading + np.radians([-40, -28, -18, -10, -5, 0, 5, 10, 18, 28, 40])
        fan = Strokes.fan(place, np.concatenate([near, np.arange(-np.pi, np.pi, np.pi / 8)]))
        library, own = self._search.library(belief), self._search.table(fan, belief)
        own[:, 8] -= self._config.pause_s
        table = np.concatenate([own, library])
        left_s = self.task.time_limit_s - self._steps * self.task.control_period_s - _SPARE_S
        best = self._search.first(pose, place, table, library, left_s)
        if best is None:
            return np.zeros(2)
        row = table[best]
        start, end = row[3:5], row[5:7]
        self.plans += 1
        if best >= len(own):
            self._walk, self._walked_steps = (start, (end - start) / np.linalg.norm(end - start)), 0
            step = self._walked(place)
            return np.zeros(2) if step is None else step
        ahead = end - place
        length = float(np.linalg.norm(ahead))
        self._heading = float(np.arctan2(ahead[1], ahead[0]))
        most = min(self._config.push_speed * self._bound_m, 0.5 * length + 0.003)
        return np.asarray(ahead * min(1.0, most / length))
