"""Where outlines pin the surface: the compiled search along rays just inside the silhouettes. All about numba."""

import numba  # noqa: TID253
import numpy as np

SHORTEST_PX, LONGEST_PX = 0.3, 1.6
"""Rays are taken this far inside the outline [px]."""
SPAN_VOXELS = 4.0
"""A ray that passes through less of the hull than this is pinned."""


@numba.njit(cache=True, nogil=True)
def pinned_voxels(distances, ignore, Ts_world_camera, intrinsics, values, low, spacing):  # type: ignore[no-untyped-def]
    """How many rays pin each voxel (nx, ny, nz).

    A ray just inside the outline must hit the object. Where it passes through only a little of the hull, the object is
    there, and the hull may not be lowered below.
    """
    view_count, height, width = distances.shape
    pins = np.zeros(values.shape, np.int32)
    for v in range(view_count):
        T = Ts_world_camera[v]
        for r in range(height):
            for c in range(width):
                if ignore[v, r, c] or not -LONGEST_PX < distances[v, r, c] < -SHORTEST_PX:
                    continue
                a = (c + 0.5 - intrinsics[v, 2]) / intrinsics[v, 0]
                b = (r + 0.5 - intrinsics[v, 3]) / intrinsics[v, 1]
                direction = T[:3, 0] * a + T[:3, 1] * b + T[:3, 2]
                direction /= np.sqrt(np.sum(direction**2))
                i, j, k = _thin_middle(T[:3, 3].copy(), direction, values, low, spacing)
                if i >= 0:
                    pins[i, j, k] += 1
    return pins


@numba.njit(cache=True, nogil=True)
def _thin_middle(eye, direction, values, low, spacing):  # type: ignore[no-untyped-def]
    """Voxel in the middle of the only short piece of a ray inside the hull; (-1, -1, -1) if there is none."""
    start, end = 0.0, 1e9
    for axis in range(3):
        if abs(direction[axis]) < 1e-9:
            continue
        first = (low[axis] - eye[axis]) / direction[axis]
        second = (low[axis] + spacing * (values.shape[axis] - 1) - eye[axis]) / direction[axis]
        start, end = max(start, min(first, second)), min(end, max(first, second))
    entry, leave, step = -1.0, -1.0, 0.5 * spacing
    along = start
    while along < end:
        i = round((eye[0] + along * direction[0] - low[0]) / spacing)
        j = round((eye[1] + along * direction[1] - low[1]) / spacing)
        k = round((eye[2] + along * direction[2] - low[2]) / spacing)
        is_in_grid = 0 <= i < values.shape[0] and 0 <= j < values.shape[1] and 0 <= k < values.shape[2]
        if is_in_grid and values[i, j, k] < 0.0:
            if entry < 0.0:
                entry = along
            leave = along
            if leave - entry > SPAN_VOXELS * spacing:
                return -1, -1, -1
        along += step
    if entry < 0.0:
        return -1, -1, -1
    middle = eye + 0.5 * (entry + leave) * direction
    i = round((middle[0] - low[0]) / spacing)
    j = round((middle[1] - low[1]) / spacing)
    k = round((middle[2] - low[2]) / spacing)
    return i, j, k
