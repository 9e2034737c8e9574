"""Sampling-based control without training: imagine many strokes in simulation, carry out the best, look again.

A stroke starts beside the object's outline and goes straight into it. Each candidate is simulated with several draws of
what is believed of physics (`Simulations`, all at once), second strokes after the best ones, and the one with the best
outlook is carried out: round the object, to the start, through, back a little. While the tip is under way the belief
goes on learning. A plan costs twice candidates x draws short rollouts, once in about two seconds; between plans a step
costs what the estimator costs.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.services.policy.arena import Arena
from gemel.services.policy.estimator import Estimator, Planar, Points
from gemel.services.policy.features import action_bound_m
from gemel.services.policy.outcome import wrapped
from gemel.services.policy.push_outline import Outline
from gemel.services.sim.make import make_simulator

Point = Float[np.ndarray, "2"]
_GAP_M = 0.010
_CLEAR_M = 0.175
"""Radius of the circle on which the tip goes round the object [m]."""
_REACH = ((0.18, -0.37), (0.73, 0.37))
"""Lowest and highest x and y of a stroke [m]."""


@dataclass(frozen=True)
class MpcConfig:
    """How many strokes are imagined, and what is good."""

    candidates: int = 48
    draws: int = 4
    """Simulations of each candidate, with physics drawn from the belief."""
    beam: int = 6
    """Strokes after which second ones are imagined; a divisor of candidates times draws."""
    stroke_cost: float = 0.01
    """What a second stroke costs besides [m]."""
    speed: float = 0.7
    """Part of the largest step at which a stroke is made."""
    arm_m: float = 0.08
    """An angle counts as the way of a point so far off [m/rad]."""
    way_cost: float = 0.1
    """Cost of a metre of way to the start of a stroke [m]."""
    done_m: float = 0.011
    done_rad: float = 0.06
    """Nearer than this nothing is pushed any more."""
    seed: int = 0


class StrokeControl:
    """One robot; answers as `PushController` does, for a single episode."""

    def __init__(self, arena: Arena, outline: Outline, estimator: Estimator, config: MpcConfig | None = None) -> None:
        self.task, self.estimator, self._config = arena.task, estimator, config or MpcConfig()
        self._arena, self._outline = arena, outline
        self._simulator = make_simulator(arena.model, self._config.candidates * self._config.draws)
        self._bound_m = action_bound_m(arena.task)
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
        self._way: deque[tuple[Point, float]] = deque()
        """Places to go to and the part of the largest step to go with."""
        self._target: Point | None = None
        self._past, self._rest, self.plans = np.zeros((1, 2)), 0, 0
        self.estimator.start(1)

    def act(self, object_xyyaw: Planar, tip_xy: Points) -> Points:
        """The next displacement of the tip [m]."""
        self.estimator.update(object_xyyaw, tip_xy, self._past)
        if self._target is None:
            self._target = tip_xy[0].copy()
        if not self._way and self._rest <= 0 and not self._is_done(object_xyyaw[0]):
            self._decide(object_xyyaw[0], tip_xy[0])
        self._rest -= 1
        while self._way and np.linalg.norm(self._way[0][0] - self._target) < 1e-4:
            self._way.popleft()
            self._rest = 3 if not self._way else 0  # the arm comes late: look when it has come to rest
        step = np.zeros(2)
        if self._way:
            place, part = self._way[0]
            way, most = place - self._target, part * self._bound_m
            step = way * min(1.0, most / max(float(np.abs(way).max()), 1e-9))
        self._target = self._target + step
        self._past = step[None]
        return self._past

    def _is_done(self, pose: Float[np.ndarray, "3"]) -> bool:
        x, y, turn = pose - self._goal
        turn = float(wrapped(np.array([turn]))[0])
        return bool(np.hypot(x, y) < self._config.done_m and abs(turn) < self._config.done_rad)

    def _decide(self, pose: Float[np.ndarray, "3"], tip: Point) -> None:
        """Imagine strokes, and after the best of them second ones: place and turn seldom come right at once."""
        count, draws, beam = self._config.candidates, self._config.draws, self._config.beam
        starts, ends = self._candidates(pose, count)
        physics = np.repeat(self._physics(draws), count, axis=0)
        outcomes = self._imagine(np.tile(pose, (draws * count, 1)), starts, ends, physics).reshape(draws, count, 3)
        costs = self._cost(outcomes).mean(axis=0) + self._config.way_cost * _ways(pose, tip, starts)
        best = np.argsort(costs)[:beam]
        each = count * draws // beam
        middles = outcomes[0, best]
        seconds = [self._candidates(middle, each) for middle in middles]
        then_starts, then_ends = (np.concatenate([second[i] for second in seconds]) for i in (0, 1))
        physics = self._physics(1).repeat(len(then_starts), axis=0)
        then = self._imagine(np.repeat(middles, each, axis=0), then_starts, then_ends, physics)
        later = self._cost(then).reshape(len(best), each).min(axis=1) + self._config.stroke_cost
        costs[best] = np.minimum(costs[best], later + self._config.way_cost * _ways(pose, tip, starts)[best])
        self._set_out(pose, tip, starts[int(np.argmin(costs))], ends[int(np.argmin(costs))])

    def _set_out(self, pose: Float[np.ndarray, "3"], tip: Point, start: Point, end: Point) -> None:
        back = end - 0.04 * (end - start) / np.linalg.norm(end - start)
        self._way.extend((place, 1.0) for place in _round(pose, tip, start))
        self._way.extend([(start, 1.0), (end, self._config.speed), (back, 1.0)])
        self.plans += 1

    def _cost(self, poses: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n"]:
        off = np.hypot(poses[..., 0] - self._goal[0], poses[..., 1] - self._goal[1])
        return np.asarray(off + self._config.arm_m * np.abs(wrapped(poses[..., 2] - self._goal[2])))

    def _candidates(
        self, pose: Float[np.ndarray, "3"], count: int
    ) -> tuple[Float[np.ndarray, "c 2"], Float[np.ndarray, "c 2"]]:
        """Starts and ends of random strokes in the world, all within reach."""
        rng, boxes = self._rng, self._outline.rectangles
        low, high = (boxes[:, :2] - boxes[:, 2:]).min(axis=0) - 0.05, (boxes[:, :2] + boxes[:, 2:]).max(axis=0) + 0.05
        c, s = np.cos(pose[2]), np.sin(pose[2])
        R = np.array([[c, -s], [s, c]])
        starts, ends = np.zeros((0, 2)), np.zeros((0, 2))
        for _ in range(20):
            places = rng.uniform(low, high, (40 * count, 2))
            places = places[np.abs(self._outline.clearance_m(places) - _GAP_M) < 0.003]
            chosen = boxes[rng.integers(len(boxes), size=len(places))]
            way = chosen[:, :2] + chosen[:, 2:] * rng.uniform(-0.8, 0.8, (len(places), 2)) - places
            way *= (_GAP_M + rng.uniform(0.01, 0.12, (len(places), 1))) / np.linalg.norm(way, axis=1, keepdims=True)
            first, last = places @ R.T + pose[:2], (places + way) @ R.T + pose[:2]
            fine = np.all((np.minimum(first, last) > _REACH[0]) & (np.maximum(first, last) < _REACH[1]), axis=1)
            starts, ends = np.concatenate([starts, first[fine]]), np.concatenate([ends, last[fine]])
            if len(starts) >= count:
                break
        if len(starts) < count:  # nothing is within reach: push where the object is, and hope
            starts, ends = np.concatenate([starts, first]), np.concatenate([ends, last])
        return starts[:count], ends[:count]

    def _imagine(
        self,
        poses: Float[np.ndarray, "n 3"],
        starts: Float[np.ndarray, "c 2"],
        ends: Float[np.ndarray, "c 2"],
        physics: Float[np.ndarray, "n p"],
    ) -> Float[np.ndarray, "n 3"]:
        """Where objects end up; strokes are repeated where there are fewer than simulations."""
        n = len(poses)
        first, last = (np.tile(places, (n // len(places), 1)) for places in (starts, ends))
        given = {"object/x": poses[:, 0], "object/y": poses[:, 1], "object/yaw": poses[:, 2]}
        qpos, _ = self._arena.start(given | {"tip/x": first[:, 0], "tip/y": first[:, 1]}, n)
        fixed = dict(self._arena.fixed)
        values = np.concatenate([physics, np.tile([*fixed.values()], (n, 1))], axis=1)
        self._simulator.set_parameters([*self._known, *fixed], values)
        self._simulator.reset(qpos)
        longest = float(np.abs(last - first).max())
        steps = max(1, int(np.ceil(longest / (self._config.speed * self._bound_m))))
        parts = np.minimum(np.arange(1, steps + 2) / steps, 1.0)  # one period more, for what slides on
        commands = np.zeros((n, steps + 1, self._simulator.model.nu))
        commands[..., self._arena.commands_at] = first[:, None] + parts[None, :, None] * (last - first)[:, None]
        rollout = self._simulator.rollout(commands, every=self._arena.every, is_ramp=True)
        found = self._arena.values(rollout.qpos[:, -1])
        return np.column_stack([found["object/x"], found["object/y"], found["object/yaw"]])

    @property
    def _known(self) -> list[str]:
        """Parameters of the belief that the simulation has."""
        return [name for name in self.estimator.names if self._simulator.has_parameter(name)]

    def _physics(self, draws: int) -> Float[np.ndarray, "d p"]:
        """Draws of the belief."""
        columns = [self.estimator.names.index(name) for name in self._known]
        mean, sigma = self.estimator.mean[0, columns], self.estimator.sigma[0, columns]
        values = mean + sigma * self._rng.standard_normal((draws, len(columns)))
        for column, name in enumerate(self._known):
            values[:, column] = np.clip(values[:, column], *self.task.parameter_ranges.get(name, (-np.inf, np.inf)))
        return values


def _ways(pose: Float[np.ndarray, "3"], tip: Point, starts: Float[np.ndarray, "c 2"]) -> Float[np.ndarray, " c"]:
    """Length of the way round the object to each start, roughly [m]."""
    first, last = tip - pose[:2], starts - pose[:2]
    turn = np.arctan2(first[0] * last[:, 1] - first[1] * last[:, 0], last @ first)
    return np.asarray(_CLEAR_M * np.abs(turn) + np.abs(np.linalg.norm(first) - np.linalg.norm(last, axis=1)))


def _round(pose: Float[np.ndarray, "3"], tip: Point, start: Point) -> list[Point]:
    """Places on a circle about the object, from the tip's side to the start's."""
    first, last = tip - pose[:2], start - pose[:2]
    angle = float(np.arctan2(first[1], first[0]))
    turn = float(np.arctan2(first[0] * last[1] - first[1] * last[0], first @ last))
    if abs(turn) < 0.1:
        return []
    angles = angle + turn * np.linspace(0.0, 1.0, max(2, int(np.ceil(abs(turn) / 0.35)) + 1))
    places = [pose[:2] + _CLEAR_M * np.array([np.cos(a), np.sin(a)]) for a in angles]
    return [np.clip(place, *_REACH) for place in places]
