"""scan: wrist cameras are carried round an object at rest; together they see it over at least 270 degrees.

One arm alone goes round the far side of the object, where it need not fold up. Of two arms that face each other each
takes the half on its own side. Elevation swings within 30 to 70 degrees while the cameras go round.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float

from gemel.artifacts.task import Task
from gemel.errors import GemelError
from gemel.geometry import SE3, bounds
from gemel.services.policy import InitialCondition, Observation, Policy, PolicySpec
from gemel.services.tasks import get_task
from gemel.worlds.hidden import Stream, stream_rng
from gemel.worlds.kinematics import FREE_ROLL
from gemel.worlds.machine import Arm, push_machine
from gemel.worlds.scenario import Scenario, World, joint_scenario

Joints = Float[np.ndarray, " joint"]
_SWINGS = 3.0
_MOST_STEPS = 180
_REACHED = 0.02
"""Largest remaining error of a view [m and rad together]."""
_MOST_MISSED = 0.05
"""Part of the views that may be out of reach."""


@dataclass(frozen=True)
class Sweep:
    """How one arm carries its camera round the object."""

    half_angle_deg: float
    is_far_side: bool
    """Whether the sweep is centred on the side away from the arm's base, or on the near one."""
    elevation_deg: float
    swing_deg: float
    radius_m: float


_ONE_ARM = Sweep(half_angle_deg=137.0, is_far_side=True, elevation_deg=53.0, swing_deg=13.0, radius_m=0.28)
_EACH_OF_TWO = Sweep(half_angle_deg=69.0, is_far_side=False, elevation_deg=56.0, swing_deg=10.0, radius_m=0.24)


class ScanOperator:
    """A policy that carries the wrist cameras round a place on the table."""

    def __init__(self, world: World, rng: np.random.Generator, *, step_count: int) -> None:
        self._world = world
        place = np.array([*scan_place(world), world.scenario.model.rest_height])
        sweep = _sweep(world)
        self.readings = np.tile(world.machine.home, (step_count, 1))
        for arm in world.machine.arms:
            views = scan_views(place, arm, sweep, step_count, rng)
            self.readings[:, world.machine.columns(arm)] = _solve(world, arm, views)
        self._step = 0

    @property
    def specification(self) -> PolicySpec:
        """Needs nothing, gives joint targets."""
        return PolicySpec("scan", self._world.machine.joint_names)

    def reset(self) -> None:
        """Back to the first view."""
        self._step = 0

    def act(self, observation: Observation) -> Float[np.ndarray, "1 joint"]:
        """The next view."""
        del observation
        self._step += 1
        return self.readings[min(self._step, len(self.readings) - 1)][None].copy()


def scan_views(
    place: Float[np.ndarray, "3"], arm: Arm, sweep: Sweep, count: int, rng: np.random.Generator
) -> list[SE3]:
    """`T_world_camera` of one arm's sweep; a hand that is not quite steady carries it."""
    away = place[:2] - arm.T_world_base.translation[:2]
    facing = np.arctan2(away[1], away[0]) + (0.0 if sweep.is_far_side else np.pi)
    wobble = np.cumsum(rng.standard_normal((count, 3)), axis=0) * 0.0006
    views = []
    for i, part in enumerate(np.linspace(0.0, 1.0, count)):
        azimuth = facing + np.radians(sweep.half_angle_deg * (2.0 * part - 1.0))
        elevation = np.radians(sweep.elevation_deg + sweep.swing_deg * np.cos(2.0 * np.pi * _SWINGS * part))
        level, up = np.cos(elevation), np.sin(elevation)
        out = np.array([level * np.cos(azimuth), level * np.sin(azimuth), up])
        eye = place + sweep.radius_m * out + wobble[i]
        views.append(SE3.look_at(eye, place, np.array([0.0, 0.0, 1.0])))
    return views


def scan_operator(world: World) -> ScanOperator:
    """The scan of a world's object."""
    rng = stream_rng(world.config.seed, Stream.OPERATOR, 0)
    return ScanOperator(world, rng, step_count=step_count(world))


def step_count(world: World) -> int:
    """Frames of a scan: nine seconds, less where the cameras are fast."""
    return min(round(get_task("scan").time_limit_s / world.task.control_period_s), _MOST_STEPS)


def scan_task(world: World) -> Task:
    """The scan as a task of this world's robot."""
    period_s = world.task.control_period_s
    return replace(
        get_task("scan"),
        control_period_s=period_s,
        time_limit_s=step_count(world) * period_s,
        objects=(world.scenario.model.name,),
    )


def scan_place(world: World) -> tuple[float, float]:
    """Where an object lies to be scanned [m]: within reach of every arm, all round."""
    base = world.machine.arms[0].T_world_base
    x, y, _ = base @ np.array([0.40 if len(world.machine.arms) == 1 else 0.50, 0.0, 0.0])
    return float(x), float(y)


def scan_condition(world: World, operator: ScanOperator) -> InitialCondition:
    """The object at its place for the scan, turned by any angle, and the arms at their first view."""
    x, y = scan_place(world)
    turn = stream_rng(world.config.seed, Stream.EPISODE, 0).uniform(-np.pi, np.pi)
    joints = zip(world.machine.joint_names, operator.readings[0], strict=True)
    start = {f"joint/{name}": float(value) for name, value in joints}
    return {"object/x": x, "object/y": y, "object/yaw": float(turn), **start}


def _sweep(world: World) -> Sweep:
    """Nearer to small objects, as far as the pusher in front of the camera allows."""
    if len(world.machine.arms) > 1:
        return _EACH_OF_TWO
    low, high = bounds(world.scenario.model.vertices, world.scenario.model.faces)
    across = float(np.linalg.norm((high - low)[:2]))
    return replace(_ONE_ARM, radius_m=float(np.clip(0.18 + 0.5 * across, 0.22, _ONE_ARM.radius_m)))


def _solve(world: World, arm: Arm, views: list[SE3]) -> Float[np.ndarray, "view joint"]:
    """Joint readings of all views, from the middle one outwards, each from its neighbour.

    An arm that cannot quite reach the ends of the sweep waits at the last view that it reached, as a person's would.
    """
    camera = next(camera for camera in world.camera_guesses if camera.parent == arm.tool_link)
    solve = partial(world.kinematics.solve, arm, T_link_frame=camera.T_parent_camera, weights=FREE_ROLL)
    middle = len(views) // 2
    q, error = solve(views[middle], np.array(arm.home), iterations=300)
    found, missed = {middle: q}, {middle} if error > _REACHED else set()
    for i in [*range(middle + 1, len(views)), *range(middle - 1, -1, -1)]:
        near = found[i - 1] if i > middle else found[i + 1]
        q, error = solve(views[i], near, posture=near, iterations=25)
        found[i] = q if error <= _REACHED else near
        missed |= {i} if error > _REACHED else set()
    if len(missed) > _MOST_MISSED * len(views):
        raise GemelError(
            f"{len(missed)} of the {len(views)} views of the scan are out of the arm's reach.",
            remedy="put the object nearer to the arm, or make the radius of the sweep smaller",
        )
    return np.stack([found[i] for i in range(len(views))])


def _operator(world: World, episode: int, rng: np.random.Generator) -> Policy:
    del episode, rng
    return scan_operator(world)


def scenario(object_name: str = "") -> Scenario:
    """A world that is only looked at."""
    return joint_scenario("scan", push_machine(), _operator, object_name=object_name)
