"""Plane geometry of outlines: inside or outside, how far, centroid. Corners in order, shape (k, 2)."""

import numpy as np
from jaxtyping import Bool, Float

Outline = Float[np.ndarray, "corner 2"]


def is_inside(outline: Outline, points: Float[np.ndarray, "*n 2"]) -> Bool[np.ndarray, "*n"]:
    """Whether points lie inside, by the parity of crossings."""
    x, y = points[..., :1], points[..., 1:]
    (x0, y0), (x1, y1) = outline.T, np.roll(outline, -1, axis=0).T
    with np.errstate(divide="ignore", invalid="ignore"):
        is_crossed = ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return np.asarray(is_crossed.sum(axis=-1) % 2 == 1)


def nearest(outline: Outline, points: Float[np.ndarray, "*n 2"]) -> tuple[np.ndarray, np.ndarray]:
    """Signed distance from the outline [m], negative inside, and the outward unit normal there."""
    edges = np.roll(outline, -1, axis=0) - outline
    along = np.sum((points[..., None, :] - outline) * edges, axis=-1) / np.sum(edges**2, axis=-1)
    feet = outline + np.clip(along, 0.0, 1.0)[..., None] * edges
    away = points[..., None, :] - feet
    distance = np.linalg.norm(away, axis=-1)
    edge = distance.argmin(axis=-1)
    closest = np.take_along_axis(distance, edge[..., None], axis=-1)[..., 0]
    away = np.take_along_axis(away, edge[..., None, None], axis=-2)[..., 0, :]
    sign = np.where(is_inside(outline, points), -1.0, 1.0)
    return sign * closest, sign[..., None] * away / np.maximum(closest, 1e-12)[..., None]


def centroid(outline: Outline) -> Float[np.ndarray, "2"]:
    """Of the outline's area."""
    after = np.roll(outline, -1, axis=0)
    cross = outline[:, 0] * after[:, 1] - outline[:, 1] * after[:, 0]
    return np.asarray((cross[:, None] * (outline + after)).sum(axis=0) / (3.0 * cross.sum()))


def rotated(angle: Float[np.ndarray, "*n"], vector: Float[np.ndarray, "*m 2"]) -> Float[np.ndarray, "*k 2"]:
    """Vectors turned by angles [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    x, y = vector[..., 0], vector[..., 1]
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)


def compose(a: Float[np.ndarray, "*n 3"], b: Float[np.ndarray, "*m 3"]) -> Float[np.ndarray, "*k 3"]:
    """`T_x_z` of plane poses (x, y, yaw) `T_x_y` and `T_y_z`."""
    xy = a[..., :2] + rotated(a[..., 2], b[..., :2])
    return np.concatenate([xy, (a[..., 2] + b[..., 2])[..., None]], axis=-1)


def inverse(a: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 3"]:
    """`T_y_x` of a plane pose `T_x_y`."""
    return np.concatenate([rotated(-a[..., 2], -a[..., :2]), -a[..., 2:]], axis=-1)
