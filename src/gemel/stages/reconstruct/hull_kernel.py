"""The compiled loop of the hull: every voxel against every view. This file's whole point is numba."""

import numba  # noqa: TID253
import numpy as np

FAR = np.float32(1e3)


@numba.njit(cache=True, nogil=True, fastmath=True)
def vote(distances, ignore, Ts_camera_world, intrinsics, grid, rank, fewest):  # type: ignore[no-untyped-def]
    """`rank`-th largest signed distance [m] over the views that see each grid point; FAR where `fewest` do not.

    `grid` holds the first point, the numbers of points and their spacing.
    """
    low, counts, spacing = grid
    view_count, height, width = distances.shape
    values = np.empty((counts[0], counts[1], counts[2]), np.float32)
    largest = np.empty(rank, np.float32)
    for i in range(counts[0]):
        for j in range(counts[1]):
            for k in range(counts[2]):
                x, y, z = low[0] + spacing * i, low[1] + spacing * j, low[2] + spacing * k
                largest[:] = -FAR
                votes = 0
                for v in range(view_count):
                    T = Ts_camera_world[v]
                    depth = T[2, 0] * x + T[2, 1] * y + T[2, 2] * z + T[2, 3]
                    if depth <= 1e-3:
                        continue
                    u = intrinsics[v, 0] * (T[0, 0] * x + T[0, 1] * y + T[0, 2] * z + T[0, 3]) / depth
                    w = intrinsics[v, 1] * (T[1, 0] * x + T[1, 1] * y + T[1, 2] * z + T[1, 3]) / depth
                    u += intrinsics[v, 2] - 0.5
                    w += intrinsics[v, 3] - 0.5
                    if u < 0.0 or w < 0.0 or u >= width - 1 or w >= height - 1:
                        continue
                    c, r = int(u), int(w)
                    if ignore[v, r, c] or ignore[v, r, c + 1] or ignore[v, r + 1, c] or ignore[v, r + 1, c + 1]:
                        continue
                    a, b = u - c, w - r
                    top = (1.0 - a) * distances[v, r, c] + a * distances[v, r, c + 1]
                    bottom = (1.0 - a) * distances[v, r + 1, c] + a * distances[v, r + 1, c + 1]
                    metres = ((1.0 - b) * top + b * bottom) * depth / intrinsics[v, 0]
                    votes += 1
                    _insert(largest, metres)
                values[i, j, k] = largest[rank - 1] if votes >= fewest else FAR
    return values


@numba.njit(cache=True, nogil=True)
def _insert(largest, value):  # type: ignore[no-untyped-def]
    """Keep the largest values in falling order."""
    n = len(largest)
    if value <= largest[n - 1]:
        return
    at = n - 1
    while at > 0 and largest[at - 1] < value:
        largest[at] = largest[at - 1]
        at -= 1
    largest[at] = value
