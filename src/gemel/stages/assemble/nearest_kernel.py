"""Distances of points from triangles, compiled. All about numba."""

import numba  # noqa: TID253
import numpy as np


@numba.njit(cache=True, nogil=True)
def triangle_distances(points, corners):  # type: ignore[no-untyped-def]
    """Distance of each point (n, 3) from the nearest of the triangles (f, 3, 3)."""
    middles, radii = _balls(corners)
    found = np.empty(len(points))
    for i in range(len(points)):
        p, nearest, least = points[i], 0, np.inf
        for f in range(len(corners)):
            apart = _apart(p, middles[f])
            if apart < least:
                nearest, least = f, apart
        least = _squared(p, corners[nearest, 0], corners[nearest, 1], corners[nearest, 2])
        reach = np.sqrt(least)
        for f in range(len(corners)):
            # A triangle whose ball is farther than what was found already cannot be nearer.
            if _apart(p, middles[f]) < (reach + radii[f]) ** 2:
                least = min(least, _squared(p, corners[f, 0], corners[f, 1], corners[f, 2]))
                reach = np.sqrt(least)
        found[i] = reach
    return found


@numba.njit(cache=True, nogil=True)
def _balls(corners):  # type: ignore[no-untyped-def]
    """Middle and radius of a ball round each triangle."""
    middles, radii = np.empty((len(corners), 3)), np.empty(len(corners))
    for f in range(len(corners)):
        middles[f] = (corners[f, 0] + corners[f, 1] + corners[f, 2]) / 3.0
        farthest = 0.0
        for k in range(3):
            farthest = max(farthest, _apart(middles[f], corners[f, k]))
        radii[f] = np.sqrt(farthest)
    return middles, radii


@numba.njit(cache=True, nogil=True)
def _apart(p, q):  # type: ignore[no-untyped-def]
    """Squared distance of two points."""
    dx, dy, dz = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    return dx * dx + dy * dy + dz * dz


@numba.njit(cache=True, nogil=True)
def _squared(p, a, b, c):  # type: ignore[no-untyped-def]
    """Squared distance of a point from a triangle: from its plane above its inside, else from the nearest side."""
    side = min(_squared_side(p, a, b), min(_squared_side(p, b, c), _squared_side(p, c, a)))
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    wx, wy, wz = p[0] - a[0], p[1] - a[1], p[2] - a[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    size = nx * nx + ny * ny + nz * nz
    if size == 0.0:
        return side
    along_v = ((uy * wz - uz * wy) * nx + (uz * wx - ux * wz) * ny + (ux * wy - uy * wx) * nz) / size
    along_u = ((wy * vz - wz * vy) * nx + (wz * vx - wx * vz) * ny + (wx * vy - wy * vx) * nz) / size
    if along_u < 0.0 or along_v < 0.0 or along_u + along_v > 1.0:
        return side
    height = wx * nx + wy * ny + wz * nz
    return height * height / size


@numba.njit(cache=True, nogil=True)
def _squared_side(p, a, b):  # type: ignore[no-untyped-def]
    """Squared distance of a point from a line segment."""
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    wx, wy, wz = p[0] - a[0], p[1] - a[1], p[2] - a[2]
    length = ux * ux + uy * uy + uz * uz
    t = 0.0
    if length > 0.0:
        t = min(1.0, max(0.0, (ux * wx + uy * wy + uz * wz) / length))
    dx, dy, dz = wx - t * ux, wy - t * uy, wz - t * uz
    return dx * dx + dy * dy + dz * dz
