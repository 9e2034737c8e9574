"""Meshes -> depth and face index of a pinhole camera, one sample at each pixel's centre.

For visibility, robot masks and silhouettes, where splats would be soft. Exact: no anti-aliasing, perspective-correct
depth, triangles cut at the near plane. Time grows with the pixels that triangles cover.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.errors import GemelError

NOTHING = -1
"""Face index of a pixel without any face."""


def rasterise(
    vertices: Float[np.ndarray, "v 3"],
    faces: Int[np.ndarray, "f 3"],
    intrinsics: "Float[np.ndarray, '4'] | tuple[float, float, float, float]",
    width: int,
    height: int,
    *,
    near_m: float = 0.01,
) -> tuple[Float[np.ndarray, "h w"], Int[np.ndarray, "h w"]]:
    """Depth [m] (infinite where nothing is) and face index (-1 there) of a mesh given in the camera's frame."""
    from gemel.services.render.cpu_triangles import fill_triangles

    if not np.all(np.isfinite(vertices)):
        raise GemelError("A mesh to be drawn has vertices that are NaN or infinite.", remedy="check what moved it")
    corners, ids = _in_front(np.asarray(vertices, dtype=np.float64)[faces], near_m)
    fx, fy, cx, cy = (float(value) for value in intrinsics)
    z = corners[..., 2]
    pixels = np.stack([fx * corners[..., 0] / z + cx, fy * corners[..., 1] / z + cy, 1.0 / z], axis=-1)
    depth = np.full((height, width), np.inf)
    face_index = np.full((height, width), NOTHING, dtype=np.int64)
    fill_triangles(pixels, ids, depth, face_index)
    return depth, face_index


def silhouette(
    vertices: Float[np.ndarray, "v 3"],
    faces: Int[np.ndarray, "f 3"],
    intrinsics: Any,
    width: int,
    height: int,
) -> Bool[np.ndarray, "h w"]:
    """Pixels whose centre the mesh covers."""
    return rasterise(vertices, faces, intrinsics, width, height)[1] != NOTHING


def _in_front(corners: Float[np.ndarray, "f 3 3"], near_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Triangles in front of the near plane, those that cross it cut; and the face that each comes from."""
    is_front = corners[..., 2] >= near_m
    count = is_front.sum(axis=1)
    whole = np.flatnonzero(count == 3)
    parts, ids = [corners[whole]], [whole]
    for face in np.flatnonzero((count == 1) | (count == 2)):
        pieces = _cut(corners[face], is_front[face], near_m)
        parts.append(pieces)
        ids.append(np.full(len(pieces), face))
    return np.ascontiguousarray(np.concatenate(parts)), np.concatenate(ids).astype(np.int64)


def _cut(triangle: np.ndarray, is_front: np.ndarray, near_m: float) -> np.ndarray:
    """The part of one triangle in front of the near plane, as one or two triangles."""
    polygon = []
    for i in range(3):
        j = (i + 1) % 3
        if is_front[i]:
            polygon.append(triangle[i])
        if is_front[i] != is_front[j]:
            share = (near_m - triangle[i, 2]) / (triangle[j, 2] - triangle[i, 2])
            polygon.append(triangle[i] + share * (triangle[j] - triangle[i]))
    return np.array([[polygon[0], polygon[k], polygon[k + 1]] for k in range(1, len(polygon) - 1)])
