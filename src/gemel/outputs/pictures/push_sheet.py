"""A push from above, some moments of it side by side: the object, where it should go, and the tip with its path."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from gemel.outputs.pictures.font import labelled
from gemel.outputs.pictures.sheet import Picture, sheet
from gemel.services.tasks.box_union import Box

_LOW, _HIGH = np.array([0.15, -0.40]), np.array([0.75, 0.40])
"""The part of the table that is shown, x and y [m]."""
_PIXEL_M = 0.004
_MOMENTS = 8
_TABLE, _GOAL, _OBJECT, _TIP, _PATH = (245, 240, 230), (150, 200, 150), (230, 120, 50), (40, 40, 60), (150, 150, 190)
_TIP_M = 0.010


def push_sheet(
    path: Float[np.ndarray, "t 5"], goal: Float[np.ndarray, "3"], shape: Sequence[Box], *, period_s: float = 0.1
) -> Picture:
    """`path` is object x, y, yaw and tip x, y after each control period; `goal` is x, y, yaw."""
    moments = np.unique(np.linspace(0, len(path) - 1, _MOMENTS).round().astype(int))
    return sheet([_moment(path, int(t), goal, shape, period_s) for t in moments], columns=4)


def _moment(path: np.ndarray, t: int, goal: np.ndarray, shape: Sequence[Box], period_s: float) -> Picture:
    xs, ys = (np.arange(low, high, _PIXEL_M) for low, high in zip(_LOW, _HIGH, strict=True))
    x, y = np.meshgrid(xs, ys[::-1])
    picture = np.full((*x.shape, 3), _TABLE, dtype=np.uint8)
    picture[_inside(x, y, goal, shape)] = _GOAL
    picture[_inside(x, y, path[t, :3], shape)] = _OBJECT
    for place in path[: t + 1, 3:]:
        picture[np.hypot(x - place[0], y - place[1]) < 0.4 * _TIP_M] = _PATH
    picture[np.hypot(x - path[t, 3], y - path[t, 4]) < _TIP_M] = _TIP
    return labelled(picture, f"{t * period_s:.1f} s")


def _inside(x: np.ndarray, y: np.ndarray, pose: np.ndarray, shape: Sequence[Box]) -> Bool[np.ndarray, "h w"]:
    c, s = np.cos(pose[2]), np.sin(pose[2])
    u, v = c * (x - pose[0]) + s * (y - pose[1]), c * (y - pose[1]) - s * (x - pose[0])
    found = np.zeros(x.shape, dtype=bool)
    for box in shape:
        found |= (np.abs(u - box.centre[0]) <= 0.5 * box.size[0]) & (np.abs(v - box.centre[1]) <= 0.5 * box.size[1])
    return found
