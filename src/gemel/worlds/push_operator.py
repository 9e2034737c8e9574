"""Somebody who pushes an object with a joystick: looks, goes round it, pushes, overshoots, pauses, looks again."""

from collections import deque
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.services.policy import Observation, PolicySpec
from gemel.services.policy.outcome import yaw_of
from gemel.worlds.control import LARGEST_STEP_M
from gemel.worlds.push_planner import PlanarPose, PushPlanner, Stroke
from gemel.worlds.scenario import World

Point = Float[np.ndarray, "2"]
_CLEAR_M = 0.17
"""Radius of the circle on which the tip goes round the object [m]; a T's corner reaches 0.14."""
_ARRIVED_M = 0.010
_PATIENCE_STEPS = 16
"""After so many steps on the way to one point the operator looks again."""
_PASSED_M = 0.035
"""How near the tip comes to a point that it only passes."""


@dataclass(frozen=True)
class Temper:
    """What differs from one operator to the next, and from day to day."""

    speed: float
    """Part of the largest step."""
    tremor_m: float
    """Standard deviation of a step's unwanted part [m]."""
    overshoot: float
    """Relative length by which strokes are too long (or too short)."""
    pause_probability: float
    """Chance of a pause before each part of the way."""

    @staticmethod
    def random(rng: np.random.Generator) -> "Temper":
        """Somebody."""
        return Temper(
            speed=float(rng.uniform(0.75, 1.0)),
            tremor_m=float(rng.uniform(0.0004, 0.0015)),
            overshoot=float(rng.normal(0.08, 0.10)),
            pause_probability=float(rng.uniform(0.1, 0.4)),
        )


class PushOperator:
    """A policy that needs to see the object, as a person does."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        goal = world.task.goal
        self._world, self._rng = world, rng
        self._temper = Temper.random(rng)
        self._goal = PlanarPose(goal["object/x"], goal["object/y"], goal["object/yaw"])
        self._planner = PushPlanner(world.scenario.model, self._goal)
        self._way: deque[tuple[Point, bool]] = deque()
        """Points to go to, and whether each is only passed."""
        self._pause_steps, self._stuck_steps, self._last = 0, 0, np.zeros(2)

    @property
    def specification(self) -> PolicySpec:
        """Takes object poses, gives tip displacements."""
        return PolicySpec("push operator", self._world.scenario.action_names, needs_object_poses=True)

    def reset(self) -> None:
        """Start over, in the same temper."""
        self._way.clear()
        self._pause_steps, self._stuck_steps, self._last = 2, 0, np.zeros(2)

    def act(self, observation: Observation) -> Float[np.ndarray, "1 2"]:
        """One step of the tip."""
        (arm,) = self._world.machine.arms
        tip = self._world.kinematics.forward(arm, observation.joint_positions).translation[:2]
        self._stuck_steps += 1
        if not self._way or self._stuck_steps > _PATIENCE_STEPS:
            self._decide(observation, tip)
        while self._way and np.linalg.norm(self._way[0][0] - tip) < self._radius():
            _, is_passed = self._way.popleft()
            self._stuck_steps = 0
            if not is_passed:
                self._maybe_pause()
        step = self._step_towards(tip)
        # A hand does not jump: half of the last step is kept.
        self._last = 0.5 * self._last + 0.5 * step
        return np.clip(self._last, -LARGEST_STEP_M, LARGEST_STEP_M)[None]

    def _radius(self) -> float:
        return _PASSED_M if self._way[0][1] else _ARRIVED_M

    def _step_towards(self, tip: Point) -> Point:
        if self._pause_steps > 0:
            self._pause_steps -= 1
            return np.zeros(2)
        if not self._way:
            return np.zeros(2)
        towards = self._way[0][0] - tip
        length = float(np.linalg.norm(towards))
        longest = LARGEST_STEP_M * self._temper.speed * (1.0 + 0.15 * self._rng.standard_normal())
        step = towards * (min(length, max(longest, 0.004)) / max(length, 1e-9))
        return np.asarray(step + self._temper.tremor_m * self._rng.standard_normal(2))

    def _decide(self, observation: Observation, tip: Point) -> None:
        """Look at the object, choose a stroke and the way to it."""
        self._way.clear()
        self._stuck_steps = 0
        pose = observation.object_poses[self._world.scenario.model.name]
        x, y, _ = pose.translation
        planar = PlanarPose(float(x), float(y), float(yaw_of(pose)))
        if self._is_done(planar):
            self._pause_steps = 10
            return
        stroke = self._planner.plan(planar, tip, self._rng)
        longer = stroke.start + (stroke.end - stroke.start) * (1.0 + self._temper.overshoot)
        retreat = longer - (stroke.end - stroke.start) / np.linalg.norm(stroke.end - stroke.start) * 0.03
        self._way.extend((point, True) for point in _round(planar, tip, stroke))
        self._way.extend([(stroke.start, False), (longer, False), (retreat, True)])

    def _is_done(self, pose: PlanarPose) -> bool:
        turn = (pose.yaw - self._goal.yaw + np.pi) % (2.0 * np.pi) - np.pi
        return bool(np.hypot(pose.x - self._goal.x, pose.y - self._goal.y) < 0.012 and abs(turn) < 0.08)

    def _maybe_pause(self) -> None:
        if self._rng.uniform() < self._temper.pause_probability:
            self._pause_steps = int(self._rng.integers(1, 6))


def _round(pose: PlanarPose, tip: Point, stroke: Stroke) -> list[Point]:
    """Points on a circle about the object, from the tip's side to the stroke's."""
    centre = np.array([pose.x, pose.y])
    first, last = tip - centre, stroke.start - centre
    start = np.arctan2(first[1], first[0])
    turn = np.arctan2(first[0] * last[1] - first[1] * last[0], first @ last)
    count = int(np.ceil(abs(turn) / 0.35))
    if count <= 1:
        return []
    angles = start + turn * np.arange(0, count + 1) / count
    return [centre + _CLEAR_M * np.array([np.cos(angle), np.sin(angle)]) for angle in angles]
