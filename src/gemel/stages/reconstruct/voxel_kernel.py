"""The compiled loops that hold every voxel against every view. This file's whole point is numba."""

import numba  # noqa: TID253
import numpy as np

FAR = np.float32(1e3)
NEAR_M = 1e-3


@numba.njit(inline="always")
def _pixel(T, lens, x, y, z):  # type: ignore[no-untyped-def]
    """Column and row of a point, zero at the middle of the first pixel, and its depth [m]; only a depth > 0 counts."""
    depth = T[2, 0] * x + T[2, 1] * y + T[2, 2] * z + T[2, 3]
    u = lens[0] * (T[0, 0] * x + T[0, 1] * y + T[0, 2] * z + T[0, 3]) / depth + lens[2] - 0.5
    w = lens[1] * (T[1, 0] * x + T[1, 1] * y + T[1, 2] * z + T[1, 3]) / depth + lens[3] - 0.5
    return u, w, depth


@numba.njit(inline="always")
def _between(image, r, c, a, b):  # type: ignore[no-untyped-def]
    """Value between four pixels, a to the right and b down from (r, c)."""
    top = (1.0 - a) * image[r, c] + a * image[r, c + 1]
    bottom = (1.0 - a) * image[r + 1, c] + a * image[r + 1, c + 1]
    return (1.0 - b) * top + b * bottom


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
                    u, w, depth = _pixel(Ts_camera_world[v], intrinsics[v], x, y, z)
                    if depth <= NEAR_M or u < 0.0 or w < 0.0 or u >= width - 1 or w >= height - 1:
                        continue
                    c, r = int(u), int(w)
                    if ignore[v, r, c] or ignore[v, r, c + 1] or ignore[v, r + 1, c] or ignore[v, r + 1, c + 1]:
                        continue
                    a, b = u - c, w - r
                    metres = _between(distances[v], r, c, a, b) * depth / intrinsics[v, 0]
                    votes += 1
                    _insert(largest, metres)
                values[i, j, k] = largest[rank - 1] if votes >= fewest else FAR
    return values


@numba.njit(cache=True, nogil=True)
def measured_distance(depths, Ts_camera_world, intrinsics, grid, reach, fewest):  # type: ignore[no-untyped-def]
    """Median over views of how far each grid point lies before what the view measured [m], at most `reach`.

    A view that measured something more than `reach` before the point says nothing about it; where its depth jumps, the
    nearest of four pixels counts. -FAR where fewer than `fewest` views speak. `grid` as in `vote`.
    """
    low, counts, spacing = grid
    view_count, height, width = depths.shape
    values = np.empty((counts[0], counts[1], counts[2]), np.float32)
    said = np.empty(view_count, np.float32)
    for i in range(counts[0]):
        for j in range(counts[1]):
            for k in range(counts[2]):
                x, y, z = low[0] + spacing * i, low[1] + spacing * j, low[2] + spacing * k
                count = 0
                for v in range(view_count):
                    u, w, depth = _pixel(Ts_camera_world[v], intrinsics[v], x, y, z)
                    if depth <= NEAR_M or u < 0.0 or w < 0.0 or u >= width - 1 or w >= height - 1:
                        continue
                    c, r = int(u), int(w)
                    around = depths[v, r : r + 2, c : c + 2]
                    if around.min() <= 0.0:
                        continue
                    is_even = around.max() - around.min() <= reach
                    before = (_between(depths[v], r, c, u - c, w - r) if is_even else around.min()) - depth
                    if before > -reach:
                        said[count] = min(before, reach)
                        count += 1
                values[i, j, k] = np.median(said[:count]) if count >= fewest else -FAR
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


@numba.njit(cache=True, nogil=True)
def sample(grey, is_usable, Ts_camera_world, intrinsics, values, low, spacing):  # type: ignore[no-untyped-def]
    """Grey values (nx, ny, nz, v) of solid voxels in each view; NaN where the view does not show the object there."""
    view_count, height, width = grey.shape
    nx, ny, nz = values.shape
    samples = np.full((nx, ny, nz, view_count), np.nan, np.float32)
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                if values[i, j, k] >= 0.0:
                    continue
                x, y, z = low[0] + spacing * i, low[1] + spacing * j, low[2] + spacing * k
                for v in range(view_count):
                    u, w, depth = _pixel(Ts_camera_world[v], intrinsics[v], x, y, z)
                    if depth <= NEAR_M or u < 0.0 or w < 0.0 or u >= width - 1 or w >= height - 1:
                        continue
                    c, r = int(u), int(w)
                    a, b = u - c, w - r
                    if not is_usable[v, r + int(b + 0.5), c + int(a + 0.5)]:
                        continue
                    samples[i, j, k, v] = _between(grey[v], r, c, a, b)
    return samples
