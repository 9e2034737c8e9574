"""Nearest points of triangles."""

import numpy as np
from jaxtyping import Float


def nearest_on_triangles(
    points: Float[np.ndarray, "*n 3"], corners: Float[np.ndarray, "*n 3 3"]
) -> Float[np.ndarray, "*n 3"]:
    """Nearest point of each triangle: the foot of the perpendicular if it is inside, else the nearest of its sides."""
    a, b, c = np.moveaxis(corners, -2, 0)
    sides = [_nearest_on_side(points, p, q) for p, q in ((a, b), (b, c), (c, a))]
    distances = np.stack([np.sum((side - points) ** 2, axis=-1) for side in sides])
    nearest = np.take_along_axis(np.stack(sides), np.argmin(distances, axis=0)[None, ..., None], axis=0)[0]
    normal = np.cross(b - a, c - a)
    size = np.sum(normal**2, axis=-1, keepdims=True)
    foot = points - np.sum((points - a) * normal, axis=-1, keepdims=True) * normal / np.where(size > 0.0, size, 1.0)
    turns = [np.sum(np.cross(q - p, foot - p) * normal, axis=-1) >= 0.0 for p, q in ((a, b), (b, c), (c, a))]
    is_inside = np.logical_and.reduce(turns) & (size[..., 0] > 0.0)
    return np.where(is_inside[..., None], foot, nearest)


def _nearest_on_side(points: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    along = q - p
    length = np.sum(along**2, axis=-1, keepdims=True)
    part = np.sum((points - p) * along, axis=-1, keepdims=True) / np.where(length > 0.0, length, 1.0)
    return np.asarray(p + np.clip(part, 0.0, 1.0) * along)
