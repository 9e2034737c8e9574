"""handover: the left arm picks a cube, the right arm takes it out of its fingers and puts it down.

The operator moves both grippers through key poses, as a person at two leader arms does: every stretch takes its own
time, some have a pause before them, free movements overshoot, and the hands are never quite still.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3, SO3
from gemel.services.policy import Observation, Policy, PolicySpec
from gemel.services.policy.outcome import yaw_of
from gemel.worlds.machine import handover_machine
from gemel.worlds.robots import FINGER_TRAVEL
from gemel.worlds.scenario import Scenario, World, joint_scenario

_OPEN, _CLOSED = FINGER_TRAVEL, 0.012
_SAFE_M, _PASS_M = 0.135, 0.22
"""Heights of the grippers above the table for travelling and for passing [m]."""
_NEAR_M = 0.011
"""The pads hold a cube this far from its middle, so that the other half is free for the other arm [m]."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Both grippers on the way to their next key pose."""

    event: str
    """What has happened when it ends; empty for stretches in between."""
    seconds: float
    left: SE3 | None
    """`T_world_tool` at the end; None: stay."""
    right: SE3 | None
    left_opening: float
    right_opening: float
    is_free: bool = False
    """Whether nothing is near, so that a hand may overshoot."""


class HandoverOperator:
    """A policy that looks once where the cube lies and then works with both hands."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        self._world, self._rng = world, rng
        self._plan: Iterator[Float[np.ndarray, " joint"]] = iter(())
        self._last = world.machine.home.copy()
        self._started = False
        self.event_times_s: list[tuple[str, float]] = []

    @property
    def specification(self) -> PolicySpec:
        """Needs the cube's place, gives joint targets of both arms."""
        return PolicySpec("handover operator", self._world.scenario.action_names, needs_object_poses=True)

    def reset(self) -> None:
        """Forget where the cube was."""
        self._started = False
        self.event_times_s = []

    def act(self, observation: Observation) -> Float[np.ndarray, "1 joint"]:
        """The next joint targets."""
        if not self._started:
            cube = observation.object_poses[self._world.scenario.model.name]
            self._plan, self._started = self._targets(self._stretches(cube)), True
        self._last = next(self._plan, self._last)
        return self._last[None].copy()

    def _stretches(self, cube: SE3) -> list[Stretch]:
        x, y, _ = cube.translation
        quarter = np.pi / 2.0
        turn = float((yaw_of(cube) + quarter / 2.0) % quarter - quarter / 2.0)
        half = 0.5 * self._world.scenario.model.collision[0].size[2]
        pick = _pointing_down(x, y, half + _NEAR_M, turn, side=1.0)
        lift = _pointing_down(x, y, _SAFE_M, turn, side=1.0)
        give = _pointing_across(0.0, 0.035, _PASS_M, side=1.0)
        taken_y = 0.035 - 2.0 * _NEAR_M
        take = _pointing_across(0.0, taken_y, _PASS_M, side=-1.0)
        wait = _pointing_across(0.0, taken_y - 0.10, _PASS_M, side=-1.0)
        retreat = _pointing_across(0.0, 0.14, _PASS_M, side=1.0)
        goal_x, goal_y = (self._world.task.goal[f"object/{axis}"] for axis in "xy")
        over = _pointing_down(goal_x, goal_y, _SAFE_M, 0.0, side=-1.0)
        put = _pointing_down(goal_x, goal_y, half + _NEAR_M + 0.003, 0.0, side=-1.0)
        left_home, right_home = (
            self._world.kinematics.forward(arm, np.array(arm.home)) for arm in self._world.machine.arms
        )
        return [
            Stretch("home", 0.4, None, None, _OPEN, _OPEN),
            Stretch("", 1.4, lift, None, _OPEN, _OPEN, is_free=True),
            Stretch("", 1.0, pick, None, _OPEN, _OPEN),
            Stretch("grasp", 0.6, None, None, _CLOSED, _OPEN),
            Stretch("lift", 1.0, lift, None, _CLOSED, _OPEN),
            Stretch("align", 2.0, give, wait, _CLOSED, _OPEN),
            Stretch("", 1.1, None, take, _CLOSED, _OPEN),
            Stretch("pass", 0.6, None, None, _CLOSED, _CLOSED),
            Stretch("release", 0.6, None, None, _OPEN, _CLOSED),
            Stretch("", 0.9, retreat, None, _OPEN, _CLOSED),
            Stretch("", 2.0, left_home, over, _OPEN, _CLOSED),
            Stretch("", 1.0, None, put, _OPEN, _CLOSED),
            Stretch("place", 0.6, None, None, _OPEN, _OPEN),
            Stretch("", 0.8, None, over, _OPEN, _OPEN),
            Stretch("home", 1.4, None, right_home, _OPEN, _OPEN, is_free=True),
        ]

    def _targets(self, stretches: list[Stretch]) -> Iterator[Float[np.ndarray, " joint"]]:
        """Joint targets, step by step."""
        machine, kinematics = self._world.machine, self._world.kinematics
        period_s = self._world.task.control_period_s
        q = machine.home.copy()
        poses = [kinematics.forward(arm, q[machine.columns(arm)]) for arm in machine.arms]
        openings, step = np.array([_OPEN, _OPEN]), 0
        pace = self._rng.uniform(0.9, 1.1)
        for stretch in stretches:
            if self._rng.uniform() < 0.15:
                pause = int(self._rng.integers(1, 4))
                step += pause
                yield from (q for _ in range(pause))
            count = max(2, round(stretch.seconds * pace * self._rng.uniform(0.9, 1.1) / period_s))
            ends = [
                new if new is not None else old for new, old in zip((stretch.left, stretch.right), poses, strict=True)
            ]
            goal = np.array([stretch.left_opening, stretch.right_opening])
            overshoot = self._rng.uniform(0.0, 0.06) if stretch.is_free else 0.0
            for i in range(1, count + 1):
                q = self._joints(q, poses, ends, _eased(i / count, overshoot))
                q[machine.is_gripper] = openings + (goal - openings) * (i / count)
                step += 1
                yield q.copy()
            poses, openings = ends, goal
            if stretch.event:
                self.event_times_s.append((stretch.event, step * period_s))

    def _joints(self, q: np.ndarray, starts: list[SE3], ends: list[SE3], part: float) -> np.ndarray:
        machine, q = self._world.machine, q.copy()
        for arm, start, end in zip(machine.arms, starts, ends, strict=True):
            moved = SE3(
                start.rotation.interpolate(end.rotation, part),
                start.translation + part * (end.translation - start.translation),
            )
            tremor = SE3(SO3.exp(0.002 * self._rng.standard_normal(3)), 0.0005 * self._rng.standard_normal(3))
            columns = machine.columns(arm)
            q[columns] = self._world.kinematics.solve(arm, moved @ tremor, q[columns], iterations=30)[0]
        return q


def _pointing_down(x: float, y: float, z: float, turn: float, *, side: float) -> SE3:
    """Tool axis down, fingers apart along x turned by `turn`; `side` is +1 for the left arm."""
    c, s = side * np.cos(turn), side * np.sin(turn)
    axes = np.array([[0.0, c, s], [0.0, s, -c], [-1.0, 0.0, 0.0]])
    return SE3(SO3.from_matrix(axes), np.array([x, y, z]))


def _pointing_across(x: float, y: float, z: float, *, side: float) -> SE3:
    """Tool axis towards the other arm; the left arm's fingers are apart along x, the right arm's along z."""
    forward = np.array([0.0, -side, 0.0])
    apart = np.array([1.0, 0.0, 0.0]) if side > 0 else np.array([0.0, 0.0, 1.0])
    return SE3(SO3.from_matrix(np.stack([forward, apart, np.cross(forward, apart)], axis=-1)), np.array([x, y, z]))


def _eased(part: float, overshoot: float) -> float:
    """Smooth from 0 to 1; with overshoot beyond 1 at four fifths of the time, and back."""
    if overshoot == 0.0:
        return part * part * (3.0 - 2.0 * part)
    if part < 0.8:
        return (1.0 + overshoot) * _eased(part / 0.8, 0.0)
    return 1.0 + overshoot * (1.0 - _eased((part - 0.8) / 0.2, 0.0))


def _operator(world: World, episode: int, rng: np.random.Generator) -> Policy:
    del episode
    return HandoverOperator(world, rng)


def scenario() -> Scenario:
    """The cube's world between two arms."""
    return joint_scenario("handover", handover_machine(), _operator, table_centre=(0.0, 0.0))
