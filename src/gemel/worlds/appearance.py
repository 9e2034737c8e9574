"""What things look like: textures and colours, made from random numbers, and the goal drawn on the table."""

from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.services.tasks.objects import ObjectModel
from gemel.worlds.hidden import Stream, stream_rng

Picture = Float[np.ndarray, "h w 3"]
TABLE_SIZE_M = (1.5, 1.7)
"""Extent of the table along x and y [m]; its middle is given by `table_centre`."""
_PIXELS_PER_M = 700
_TAPE_M = 0.006


def table_picture(
    seed: int,
    centre: tuple[float, float],
    *,
    plain: bool,
    goal: "tuple[ObjectModel, float, float, float] | None",
) -> Picture:
    """Linear colours of the table top, seen from above: rows along y, columns along x.

    `goal` is an object and the pose (x [m], y [m], yaw [rad]) at which its outline is taped on the table.
    """
    columns, rows = (round(length * _PIXELS_PER_M) for length in TABLE_SIZE_M)
    x = centre[0] + ((np.arange(columns) + 0.5) / columns - 0.5) * TABLE_SIZE_M[0]
    y = centre[1] + ((np.arange(rows) + 0.5) / rows - 0.5) * TABLE_SIZE_M[1]
    X, Y = np.meshgrid(x, y)
    picture = np.full((rows, columns, 3), 0.42) if plain else _wood(stream_rng(seed, Stream.LOOKS), X, Y)
    if goal is not None:
        model, goal_x, goal_y, yaw = goal
        c, s = np.cos(yaw), np.sin(yaw)
        u, v = c * (X - goal_x) + s * (Y - goal_y), -s * (X - goal_x) + c * (Y - goal_y)
        picture[_outline(model, u, v)] = (0.03, 0.10, 0.30)
    return picture


def _wood(rng: np.random.Generator, X: np.ndarray, Y: np.ndarray) -> Picture:
    """Planks along y, each with its own tint and its own wandering grain."""
    plank = np.floor((X + 10.0) / 0.12).astype(int)
    plank -= plank.min()
    tint = 1.0 + 0.10 * rng.standard_normal(plank.max() + 1)
    shift = rng.uniform(0.0, 50.0, plank.max() + 1)
    u, v = X * 1.0, Y + shift[plank]
    wander = sum(0.012 / k * np.sin(2.0 * np.pi * k * v / 0.9 + rng.uniform(0, 6.3) + 7.0 * u) for k in (1, 2, 3))
    rings = np.sin(2.0 * np.pi * (u + wander + 0.03 * shift[plank]) / 0.017)
    fine = _streaks(rng, X.shape)
    value = tint[plank] * (0.80 + 0.10 * rings + 0.14 * fine)
    seam = np.abs((X + 10.0) % 0.12) < 0.0022
    value = np.where(seam, 0.35 * value, value)
    return np.clip(value[..., None] * np.array([0.46, 0.27, 0.135]), 0.01, 0.95)


def _streaks(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Noise that is drawn out along the rows' direction, standard deviation about one."""
    noise = rng.standard_normal(shape)
    kernel = np.ones(61) / np.sqrt(61.0)
    spectrum = np.fft.rfft(noise, axis=0) * np.fft.rfft(kernel, n=shape[0])[:, None]
    return np.fft.irfft(spectrum, n=shape[0], axis=0)


def _outline(model: ObjectModel, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Where the tape lies: outside the object's footprint, within its width."""
    inside, near = np.zeros(u.shape, dtype=bool), np.zeros(u.shape, dtype=bool)
    for box in model.collision:
        du, dv = np.abs(u - box.centre[0]) - 0.5 * box.size[0], np.abs(v - box.centre[1]) - 0.5 * box.size[1]
        inside |= (du < 0.002) & (dv < 0.002)
        near |= (du < 0.002 + _TAPE_M) & (dv < 0.002 + _TAPE_M)
    return near & ~inside


def speckle_picture(rng: np.random.Generator, colour: tuple[float, float, float], strength: float) -> Picture:
    """A surface of one colour with marks of several sizes, as prints, castings and used things have them."""
    value = np.zeros((128, 128))
    for cells, weight in ((8, 0.5), (16, 0.6), (32, 0.5), (128, 0.35)):
        value += weight * np.kron(rng.standard_normal((cells, cells)), np.ones((128 // cells, 128 // cells)))
    factor = np.clip(1.0 + strength * value, 0.15, 2.0)
    return np.clip(factor[..., None] * np.array(colour), 0.005, 0.95)


def room_picture(rng: np.random.Generator) -> Picture:
    """Radiance from all directions: dim floor, bright ceiling, a window on one side. (64, 128, 3)"""
    height = np.linspace(1.0, -1.0, 64)[:, None]
    around = np.linspace(0.0, 2.0 * np.pi, 128, endpoint=False)[None, :]
    grey = 0.42 + 0.25 * height + 0.05 * np.sin(3.0 * around + rng.uniform(0.0, 6.3))
    window = 2.2 * np.exp(-(((around - 4.2) / 0.35) ** 4) - (((height - 0.25) / 0.22) ** 4))
    warm, cool = np.array([1.0, 0.95, 0.88]), np.array([0.85, 0.95, 1.1])
    return np.asarray(np.maximum(grey, 0.05)[..., None] * warm + window[..., None] * cool)


def object_looks(name: str) -> tuple[tuple[float, float, float], float, dict[str, Any]]:
    """Linear colour, strength of its marks, and mitsuba's settings of the surface, by object."""
    matt: dict[str, Any] = {"roughness": 0.6, "specular": 0.3}
    looks: dict[str, tuple[tuple[float, float, float], float, dict[str, Any]]] = {
        "t_block": ((0.72, 0.17, 0.03), 0.16, matt),
        "hammer": ((0.45, 0.24, 0.09), 0.20, matt),
        "cube": ((0.05, 0.16, 0.55), 0.18, matt),
        "big_cube": ((0.62, 0.60, 0.56), 0.22, matt),
        "mug": ((0.50, 0.035, 0.03), 0.10, {"roughness": 0.25, "specular": 0.5}),
        "ring": ((0.05, 0.34, 0.12), 0.16, matt),
        "bracket": ((0.36, 0.37, 0.39), 0.14, {"roughness": 0.35, "metallic": 0.6}),
    }
    return looks[name]
