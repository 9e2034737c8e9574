"""How the pushing operator imagines a push: the nominal object on an even table, a stroke of the pusher, a result.

The operator does not know the hidden truth: the imagined object has a uniform mass and medium friction, so its plans
are wrong in the way that a person's are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.services.tasks import ObjectModel
from gemel.worlds.robots import PUSHER_RADIUS

_STEP_S = 0.005
_SPEED_M_S = 0.12
_GAP_M = 0.012
_FRICTION = 0.45


@dataclass(frozen=True, eq=False)
class Stroke:
    """A straight push, in the world's plane."""

    start: Float[np.ndarray, "2"]
    """Where the tip's axis is before the push, clear of the object [m]."""
    end: Float[np.ndarray, "2"]


@dataclass(frozen=True)
class PlanarPose:
    """Place and heading of an object that lies on the table."""

    x: float
    y: float
    yaw: float

    def to_world(self, points: Float[np.ndarray, "*n 2"]) -> Float[np.ndarray, "*n 2"]:
        """Points of the object's frame in the world [m]."""
        return np.asarray(self.turned(points) + np.array([self.x, self.y]))

    def turned(self, vectors: Float[np.ndarray, "*n 2"]) -> Float[np.ndarray, "*n 2"]:
        """Vectors of the object's frame in the world."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        return np.asarray(vectors @ np.array([[c, s], [-s, c]]))


class PushPlanner:
    """Chooses a stroke by imagining many."""

    def __init__(self, model: ObjectModel, goal: PlanarPose) -> None:
        import mujoco

        self._mujoco: Any = mujoco
        self._object, self._goal = model, goal
        self._model = mujoco.MjModel.from_xml_string(_imagined_mjcf(model))
        self._data = mujoco.MjData(self._model)

    def plan(
        self, pose: PlanarPose, tip: Float[np.ndarray, "2"], rng: np.random.Generator, *, candidates: int = 60
    ) -> Stroke:
        """The best of some random strokes, counting also the way to get there."""
        drawn = [self._random_stroke(pose, rng) for _ in range(candidates)]
        strokes = [stroke for stroke in drawn if _is_within_reach(stroke)] or drawn
        costs = [self._cost(self.imagine(pose, stroke)) + 0.2 * _way(tip, pose, stroke) for stroke in strokes]
        return strokes[int(np.argmin(costs))]

    def imagine(self, pose: PlanarPose, stroke: Stroke) -> PlanarPose:
        """Where the object ends up after a stroke."""
        self._mujoco.mj_resetData(self._model, self._data)
        half = 0.5 * pose.yaw
        height = self._object.rest_height
        self._data.qpos[:] = [pose.x, pose.y, height, np.cos(half), 0.0, 0.0, np.sin(half)]
        way = stroke.end - stroke.start
        count = max(1, int(np.linalg.norm(way) / (_SPEED_M_S * _STEP_S)))
        for i in range(count):
            self._data.mocap_pos[0, :2] = stroke.start + way * ((i + 1) / count)
            self._mujoco.mj_step(self._model, self._data)
        x, y, _, w, _, _, z = self._data.qpos
        return PlanarPose(float(x), float(y), float(2.0 * np.arctan2(z, w)))

    def _random_stroke(self, pose: PlanarPose, rng: np.random.Generator) -> Stroke:
        """A push on a random place of the outline, not far from square to it."""
        point, normal = _outline_point(self._object, rng)
        tilt = rng.uniform(-0.5, 0.5)
        c, s = np.cos(tilt), np.sin(tilt)
        heading = pose.turned(-normal @ np.array([[c, s], [-s, c]]))
        start = pose.to_world(point + normal * (PUSHER_RADIUS + _GAP_M))
        return Stroke(start, start + heading * (_GAP_M + rng.uniform(0.03, 0.14)))

    def _cost(self, pose: PlanarPose) -> float:
        """Distance from the goal [m], an angle counting as the way of a point 8 cm off."""
        turn = (pose.yaw - self._goal.yaw + np.pi) % (2.0 * np.pi) - np.pi
        off = float(np.hypot(pose.x - self._goal.x, pose.y - self._goal.y))
        outside = max(0.0, np.hypot(pose.x, pose.y) - 0.66) + max(0.0, 0.27 - pose.x)
        return off + 0.08 * abs(float(turn)) + 3.0 * outside


def _outline_point(model: ObjectModel, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random point on the outline seen from above and the normal there, in the object's frame."""
    while True:
        box = model.collision[int(rng.integers(len(model.collision)))]
        axis, sign = int(rng.integers(2)), float(rng.choice([-1.0, 1.0]))
        normal = np.zeros(2)
        normal[axis] = sign
        half = 0.5 * np.array(box.size[:2])
        along = rng.uniform(-0.92, 0.92) * half[1 - axis]
        point = np.array(box.centre[:2]) + sign * half[axis] * np.eye(2)[axis] + along * np.eye(2)[1 - axis]
        outside = point + normal * (2.0 * PUSHER_RADIUS + _GAP_M)
        if not any(_covers(other.low[:2], other.high[:2], outside) for other in model.collision):
            return point, normal


def _covers(low: np.ndarray, high: np.ndarray, point: np.ndarray) -> bool:
    margin = PUSHER_RADIUS
    return bool(np.all(point > low - margin) and np.all(point < high + margin))


def _is_within_reach(stroke: Stroke) -> bool:
    ends = np.stack([stroke.start, stroke.end])
    x_is_fine = (ends[:, 0] > 0.20) & (ends[:, 0] < 0.70)
    return bool(np.all(x_is_fine & (np.abs(ends[:, 1]) < 0.36)))


def _way(tip: np.ndarray, pose: PlanarPose, stroke: Stroke) -> float:
    """Length of the way round the object to the start of a stroke, roughly [m]."""
    centre = np.array([pose.x, pose.y])
    first, last = tip - centre, stroke.start - centre
    turn = np.arctan2(first[0] * last[1] - first[1] * last[0], first @ last)
    return 0.16 * abs(float(turn)) + abs(float(np.linalg.norm(first) - np.linalg.norm(last)))


def _imagined_mjcf(model: ObjectModel) -> str:
    boxes = "".join(
        f'<geom type="box" size="{box.size[0] / 2} {box.size[1] / 2} {box.size[2] / 2}" '
        f'pos="{box.centre[0]} {box.centre[1]} {box.centre[2]}" friction="{_FRICTION}" mass="{0.1 * model.mass_kg}"/>'
        for box in model.collision
    )
    return (
        f'<mujoco><option timestep="{_STEP_S}" cone="elliptic" impratio="10" integrator="implicitfast"/><worldbody>'
        f'<geom type="plane" size="2 2 0.1" friction="{_FRICTION}"/>'
        f'<body name="object"><freejoint/>{boxes}</body>'
        f'<body name="tip" mocap="true" pos="0 0 0.05">'
        f'<geom type="cylinder" size="{PUSHER_RADIUS} 0.035" friction="0.3"/></body></worldbody></mujoco>'
    )
