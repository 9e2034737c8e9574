"""What a push policy sees, is told and does, as plain arrays; training, benchmarks and robots share this file.

Columns of `push_features`, in this order (o = the object's frame, w = the world's; lengths in metres):

| columns | what | turns with the scene |
|---|---|---|
| 0:2 | object minus goal, w | yes |
| 2:4 | sine and cosine of the yaw error | no |
| 4:6 | tip minus object, w | yes |
| 6:8 | tip minus object, o | no |
| 8:10 | goal minus object, o | no |
| 10:12 | the tip's velocity over the last period [m/s], o | no |
| 12:16 | the last two actions, newest first, each in the object's frame of its time | no |

An action is a displacement of the tip in the object's frame, in units of the task's largest one, within -1 and 1.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Float32, Int

from gemel.artifacts.task import Task
from gemel.errors import ConfigError

WIDTH = 16
"""Columns of `push_features`."""
WIDEST_COM_M = 0.02
"""Largest standard deviation of a centre of mass that a policy is told, unless its training said another [m]."""
PAST = 2
"""How many of its own actions a policy sees."""

Rows = Int[np.ndarray, " row"]


def push_features(
    object_xyyaw: Float[np.ndarray, "n 3"],
    tip_xy: Float[np.ndarray, "n 2"],
    previous_tip_xy: Float[np.ndarray, "n 2"],
    past_actions: Float[np.ndarray, "n 2 2"],
    task: Task,
) -> Float32[np.ndarray, "n 16"]:
    """The columns above; `past_actions` (n, 2, 2) has the newest action first."""
    goal = task.goal
    x, y, yaw = object_xyyaw.T
    c, s = np.cos(yaw), np.sin(yaw)
    error = yaw - goal["object/yaw"]
    dx, dy = x - goal["object/x"], y - goal["object/y"]
    tx, ty = tip_xy[:, 0] - x, tip_xy[:, 1] - y
    vx, vy = ((tip_xy - previous_tip_xy) / task.control_period_s).T
    out = np.empty((len(x), WIDTH), dtype=np.float32)
    out[:, 0], out[:, 1] = dx, dy
    out[:, 2], out[:, 3] = np.sin(error), np.cos(error)
    out[:, 4], out[:, 5] = tx, ty
    out[:, 6], out[:, 7] = c * tx + s * ty, c * ty - s * tx
    out[:, 8], out[:, 9] = -c * dx - s * dy, s * dx - c * dy
    out[:, 10], out[:, 11] = c * vx + s * vy, c * vy - s * vx
    out[:, 12:] = past_actions.reshape(len(x), 4)
    return out


def told_parameters(
    mean: Float[np.ndarray, "n p"], sigma: Float[np.ndarray, "n p"], ranges: Sequence[tuple[float, float]]
) -> Float32[np.ndarray, "n _"]:
    """What a policy is told of physics, (n, 2 p): all means, then all standard deviations, in units of their ranges."""
    low, high = np.array(ranges, dtype=np.float64).reshape(-1, 2).T
    half = 0.5 * (high - low)
    return np.concatenate([(mean - 0.5 * (low + high)) / half, sigma / half], axis=1).astype(np.float32)


def widest_sigmas(
    names: Sequence[str], ranges: Sequence[tuple[float, float]], com_m: float = WIDEST_COM_M
) -> Float[np.ndarray, " p"]:
    """The widest uncertainty that policies are told in training: `com_m` of a centre of mass, and the same part of
    other ranges as that is of the T-block's 11 cm."""
    pairs = zip(names, ranges, strict=True)
    return np.array([com_m if "/com_" in name else com_m / 0.11 * (high - low) for name, (low, high) in pairs])


def to_world(action: Float[np.ndarray, "n 2"], yaw: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 2"]:
    """Actions of the object's frame in the world's, in the same units; shortened where an axis would exceed 1.

    Robots limit each axis by itself, which would turn a long diagonal action; shortened, it keeps its direction.
    """
    a = np.clip(action, -1.0, 1.0)
    c, s = np.cos(yaw), np.sin(yaw)
    world = np.stack([c * a[:, 0] - s * a[:, 1], s * a[:, 0] + c * a[:, 1]], axis=1)
    return np.asarray(world / np.maximum(1.0, np.abs(world).max(axis=1, keepdims=True)))


def to_object(action: Float[np.ndarray, "n 2"], yaw: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 2"]:
    """Actions of the world's frame in the object's; undoes `to_world` where that did not shorten."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.stack([c * action[:, 0] + s * action[:, 1], c * action[:, 1] - s * action[:, 0]], axis=1)


def action_bound_m(task: Task) -> float:
    """The largest displacement of the tip in one period [m]: what an action of 1 means."""
    if {quantity.name for quantity in task.action} != {"tip_x", "tip_y"}:
        raise ConfigError(
            f"Task {task.name!r} is commanded by {[quantity.name for quantity in task.action]}; push policies move "
            "tip_x and tip_y.",
            remedy="use a push task",
        )
    return float(max(abs(bound) for quantity in task.action for bound in (quantity.low, quantity.high)))


def ranges_of(task: Task, names: Sequence[str]) -> list[tuple[float, float]]:
    """The ranges in whose units a policy is told parameters."""
    return [_range(task.parameter_ranges, name, task.name) for name in names]


def _range(ranges: Mapping[str, tuple[float, float]], name: str, task: str) -> tuple[float, float]:
    if name not in ranges:
        raise ConfigError(
            f"Task {task!r} has no range for {name!r}; it has {sorted(ranges)}.",
            remedy="condition the policy on one of those",
        )
    return checked_range(name, *ranges[name])


def checked_range(name: str, low: float, high: float) -> tuple[float, float]:
    """The range, if it is one."""
    if not (np.isfinite([low, high]).all() and low < high):
        raise ConfigError(
            f"The range of {name} is from {low:g} to {high:g}; a lower and a higher number were expected.",
            remedy="give the lower number first",
        )
    return low, high


class FeatureHistory:
    """The features of the last steps of many episodes, (n, steps * width), newest first."""

    def __init__(self, count: int, steps: int, width: int = WIDTH) -> None:
        self._past = np.zeros((count, steps, width), dtype=np.float32)

    def start(self, features: Float32[np.ndarray, "row width"], rows: Rows) -> None:
        """Episodes begin: all their past is as it is now."""
        self._past[rows] = features[:, None]

    def push(self, features: Float32[np.ndarray, "n width"]) -> None:
        """One step later."""
        self._past[:, 1:] = self._past[:, :-1].copy()
        self._past[:, 0] = features

    @property
    def stacked(self) -> Float32[np.ndarray, "n _"]:
        """All steps of each episode in one row; a copy."""
        return self._past.reshape(len(self._past), -1).copy()
