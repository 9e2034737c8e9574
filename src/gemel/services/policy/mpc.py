"""Sampling-based control without training: imagine plans of several strokes, begin the best, look again at every step.

A stroke starts beside the object's outline, or where the tip is, and goes straight into it. What each does to it is
imagined for what is believed of its physics now (`stroke_library.py`); plans of up to three strokes, with the ways
between them, are then weighed by where they leave the object and how long they take (`stroke_kernel.py`). The arm comes
late by a period, so plans begin where tip and object will be when the next command is carried out.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gemel.services.policy.arena import Arena
from gemel.services.policy.estimator import Estimator, Planar, Points
from gemel.services.policy.features import action_bound_m
from gemel.services.policy.outcome import wrapped
from gemel.services.policy.push_belief import PushBelief, push_belief
from gemel.services.policy.push_outline import Outline
from gemel.services.policy.stroke_library import LENGTHS_M, Ring, Strokes

Point = Float[np.ndarray, "2"]
Pose = Float[np.ndarray, "3"]
Table = Float[np.ndarray, "_ 13"]
"""Strokes with lengths: the ten columns of `plan_costs`, then where the tip is left, in the object's frame of after (x,
y) and its place on the way round."""
_REACH = (0.17, -0.37, 0.73, 0.37)
"""Lowest and highest x and y of a stroke [m]."""
_SAME = np.array([0.001, 0.001, 0.02, 0.02, 0.001])
"""Changes of `PushBelief.physics` that are not worth imagining strokes again."""
_SAFE_M = 0.004
"""Clearance of a straight way [m]."""


@dataclass(frozen=True)
class MpcConfig:
    """How many strokes are imagined, and what is good."""

    strokes: int = 300
    """Strokes beside the object; each is looked at with several lengths."""
    beam: int = 96
    """Plans that are followed up with another stroke."""
    depth: int = 3
    arm_m: float = 0.12
    """An angle counts as the way of a point so far off [m/rad]."""
    second_m: float = 0.004
    """What a second costs [m]."""
    push_speed: float = 0.6
    """Part of the largest step at which a stroke is made."""
    error_m: float = 0.003
    """Least error of a stroke [m]."""
    aside_m: float = 0.004
    """How far aside of its aim a stroke may be [m]: half of what that changes is added to its error."""
    change_m: float = 0.005
    """How much better another stroke must be than to go on from here [m]."""
    pause_s: float = 0.2
    """Time lost at the start of each stroke [s]."""
    seed: int = 0


class StrokeControl:
    """One robot; answers as `PushController` does, for a single episode."""

    def __init__(self, arena: Arena, outline: Outline, estimator: Estimator, config: MpcConfig | None = None) -> None:
        self.task, self.estimator, self._config = arena.task, estimator, config or MpcConfig()
        self._object, self._outline = arena.object, outline
        self._bound_m = action_bound_m(arena.task)
        self._ring = Ring.of(outline)
        goal = arena.task.goal
        self._goal = np.array([goal["object/x"], goal["object/y"], goal["object/yaw"]])
        self.plans = 0
        self.start(1)

    @property
    def name(self) -> str:
        """What it is, for people."""
        return f"mpc for {self.task.name}"

    def start(self, count: int) -> None:
        """Begin an episode; one at a time."""
        assert count == 1, "strokes are planned for one robot"
        self._rng = np.random.default_rng(self._config.seed)
        self._strokes = Strokes.around(self._outline, self._config.strokes, self._rng)
        self._target: Point | None = None
        self._walk: tuple[Point, Point] | None = None
        """Start and direction of the stroke that the tip is on the way to, in the object's frame."""
        self._heading = 0.0
        self._imagined: tuple[np.ndarray, Table] | None = None
        self._past, self._steps, self.plans = np.zeros((1, 2)), 0, 0
        self.estimator.start(1)

    def act(self, object_xyyaw: Planar, tip_xy: Points) -> Points:
        """The next displacement of the tip [m]."""
        self.estimator.update(object_xyyaw, tip_xy, self._past)
        if self._target is None:
            self._target = tip_xy[0].copy()
        belief = push_belief(self.estimator, self._object)
        pose = self._soon(object_xyyaw[0], tip_xy[0], belief)
        place = to_frame(pose, self._target + belief.offset)
        step = self._walked(place)
        if step is None:
            step = self._decided(pose, place, belief)
        step = to_world_vector(pose, step)
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
        if np.linalg.norm(start - place) < 0.003:
            self._heading, self._walk = float(np.arctan2(way[1], way[0])), None
            return None
        corner = self._next_corner(place, start)
        ahead = corner - place
        length = float(np.linalg.norm(ahead))
        return np.asarray(ahead * min(1.0, 1.4 * self._bound_m / max(length, 1e-9)))

    def _next_corner(self, place: Point, start: Point) -> Point:
        """The farthest place on the way to the start to which the tip can go straight."""
        way = np.concatenate([start[None], self._ring.between(place, start)[::-1]])
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
        library = self._library(belief)
        own = self._table(fan, belief)
        own[:, 8] -= self._config.pause_s
        table = np.concatenate([own, library])
        best = self._search(pose, place, table, library)
        if best is None:
            return np.zeros(2)
        row = table[best]
        start, end = row[3:5], row[5:7]
        self.plans += 1
        if best >= len(own):
            self._walk = (start, (end - start) / np.linalg.norm(end - start))
            step = self._walked(place)
            return np.zeros(2) if step is None else step
        ahead = end - place
        length = float(np.linalg.norm(ahead))
        self._heading = float(np.arctan2(ahead[1], ahead[0]))
        most = min(self._config.push_speed * self._bound_m, 0.5 * length + 0.003)
        return np.asarray(ahead * min(1.0, most / length))

    def _library(self, belief: PushBelief) -> Table:
        """All strokes beside the object; imagined again when the belief has changed."""
        if self._imagined is None or np.any(np.abs(belief.physics - self._imagined[0]) > _SAME):
            self._imagined = belief.physics, self._table(self._strokes, belief)
        return self._imagined[1]

    def _table(self, strokes: Strokes, belief: PushBelief) -> Table:
        """All lengths of all strokes."""
        config = self._config
        motions = strokes.motions(self._outline, belief.physics)
        length = np.array(LENGTHS_M)
        ends = strokes.starts[:, None] + length[None, :, None] * strokes.ways[:, None]
        starts = np.broadcast_to(strokes.starts[:, None], ends.shape)
        c, s = np.cos(motions[..., 2]), np.sin(motions[..., 2])
        off = ends - motions[..., :2]
        left = np.stack([c * off[..., 0] + s * off[..., 1], c * off[..., 1] - s * off[..., 0]], axis=-1)
        seconds = config.pause_s + length / (config.push_speed * self._bound_m) * self.task.control_period_s
        error = config.error_m + 0.5 * self._fragility(strokes, motions, belief)
        columns = [
            motions, starts, ends, np.broadcast_to(self._ring.at(strokes.starts)[:, None, None], (*ends.shape[:2], 1)),
            np.stack([np.broadcast_to(seconds, error.shape), error], axis=-1), left,
            self._ring.at(left.reshape(-1, 2)).reshape(*ends.shape[:2], 1),
        ]  # fmt: skip
        return np.concatenate(columns, axis=-1).reshape(-1, 13)

    def _fragility(
        self, strokes: Strokes, motions: Float[np.ndarray, "n length 3"], belief: PushBelief
    ) -> Float[np.ndarray, "n length"]:
        """How far off objects end if strokes are a little aside [m]: at a corner a stroke turns either way."""
        off = np.zeros(motions.shape[:2])
        for side in (-1.0, 1.0):
            aside = side * self._config.aside_m * strokes.ways[:, ::-1] * [-1.0, 1.0]
            change = Strokes(strokes.starts + aside, strokes.ways).motions(self._outline, belief.physics) - motions
            far = np.hypot(change[..., 0], change[..., 1]) + self._config.arm_m * np.abs(change[..., 2])
            off = np.maximum(off, far)
        return off

    def _search(self, pose: Pose, place: Point, table: Table, library: Table) -> int | None:
        """The row of the table that the best plan begins with; None where nothing is better than to leave it."""
        from gemel.services.policy.stroke_kernel import plan_costs

        config = self._config
        left_s = self.task.time_limit_s - self._steps * self.task.control_period_s - 0.15
        speed = 1.1 * self._bound_m / self.task.control_period_s
        weights = np.array([config.arm_m, config.second_m, self._ring.length_m, speed, left_s])
        reach, goal = np.array(_REACH), self._goal

        leave = np.array([[*place, self._ring.at(place[None])[0]]])
        costs = plan_costs(pose[None], leave, np.zeros(1), table[:, :10], goal, reach, weights)[0]
        change = np.where(np.arange(len(table)) < len(table) - len(library), 0.0, config.change_m)
        value = costs + change
        chosen = self._beam(costs)
        roots, poses, leaves = chosen, composed(pose[None], table[chosen, :3]), table[chosen, 10:]
        spent = self._seconds(leave, table[chosen], weights)
        for _ in range(config.depth - 1):
            then = plan_costs(poses, leaves, spent, library[:, :10], goal, reach, weights)
            np.minimum.at(value, roots, then.min(axis=1) + change[roots])
            flat = self._beam(then.reshape(-1))
            before, after = np.divmod(flat, len(library))
            spent = spent[before] + self._seconds(leaves[before], library[after], weights)
            poses, leaves, roots = composed(poses[before], library[after, :3]), library[after, 10:], roots[before]
        best = int(np.argmin(value))
        off = pose - self._goal
        now = float(np.hypot(off[0], off[1]) + config.arm_m * abs(float(wrapped(off[2:])[0])))
        return best if value[best] < now else None

    def _beam(self, costs: Float[np.ndarray, " n"]) -> Int[np.ndarray, " b"]:
        """The best plans, and some of the others: what is good in the end may look bad at first."""
        count = min(self._config.beam, len(costs))
        best = np.argpartition(costs, count - 1)[:count]
        fine = np.flatnonzero(np.isfinite(costs))
        some = self._rng.choice(fine, min(count // 2, len(fine)), replace=False) if len(fine) else fine
        return np.concatenate([best[np.isfinite(costs[best])], some])

    def _seconds(
        self, leaves: Float[np.ndarray, "_ 3"], rows: Table, weights: Float[np.ndarray, "5"]
    ) -> Float[np.ndarray, " n"]:
        """Time of the way to strokes and of the strokes [s]."""
        apart = np.abs(leaves[:, 2] - rows[:, 7])
        straight = np.hypot(leaves[:, 0] - rows[:, 3], leaves[:, 1] - rows[:, 4])
        return np.asarray(np.maximum(straight, np.minimum(apart, weights[2] - apart)) / weights[3] + rows[:, 8])


def composed(poses: Float[np.ndarray, "#n 3"], motions: Float[np.ndarray, "n 3"]) -> Planar:
    """Poses after motions that are given in each pose's own frame."""
    x, y, yaw = poses.T
    c, s = np.cos(yaw), np.sin(yaw)
    return np.column_stack(
        [x + c * motions[:, 0] - s * motions[:, 1], y + s * motions[:, 0] + c * motions[:, 1], yaw + motions[:, 2]]
    )


def to_frame(pose: Pose, point: Point) -> Point:
    """A point of the world in the frame of a pose."""
    c, s = np.cos(pose[2]), np.sin(pose[2])
    x, y = point - pose[:2]
    return np.array([c * x + s * y, c * y - s * x])


def to_world_vector(pose: Pose, vector: Point) -> Point:
    """A vector of a pose's frame in the world."""
    c, s = np.cos(pose[2]), np.sin(pose[2])
    return np.array([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]])
