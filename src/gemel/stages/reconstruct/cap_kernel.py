"""The compiled loops of the cap: grey values at voxels, their agreement, and smooth heights. All about numba."""

import numba  # noqa: TID253
import numpy as np

REACH = 2
"""Patches reach this many voxels to each side."""
FEWEST_POINTS = 12
FEWEST_VIEWS = 4
KEPT_PART = 0.7
"""Part of the views that must agree: the others may be hidden or wrong."""


@numba.njit(cache=True, nogil=True)
def agreement(samples, noise):  # type: ignore[no-untyped-def]
    """Mean correlation between views of the level patch around each voxel (nx, ny, nz); 0 where nothing can be said."""
    nx, ny, nz, view_count = samples.shape
    result = np.zeros((nx, ny, nz), np.float32)
    size = (2 * REACH + 1) ** 2
    patches = np.empty((view_count, size), np.float32)
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                found = 0
                for v in range(view_count):
                    if _patch(samples, i, j, k, v, noise, patches[found]):
                        found += 1
                if found >= FEWEST_VIEWS:
                    result[i, j, k] = _mean_correlation(patches[:found])
    return result


@numba.njit(cache=True, nogil=True)
def _patch(samples, i, j, k, v, noise, patch):  # type: ignore[no-untyped-def]
    """Fill in the patch of one view, without its mean and scaled to its contrast; False if too little is seen."""
    nx, ny = samples.shape[:2]
    if np.isnan(samples[i, j, k, v]):
        return False
    total, squares = np.float32(0.0), np.float32(0.0)
    count, at = 0, 0
    for di in range(-REACH, REACH + 1):
        for dj in range(-REACH, REACH + 1):
            value = np.float32(np.nan)
            if 0 <= i + di < nx and 0 <= j + dj < ny:
                value = samples[i + di, j + dj, k, v]
            patch[at] = value
            at += 1
            if not np.isnan(value):
                total += value
                squares += value * value
                count += 1
    if count < FEWEST_POINTS:
        return False
    mean = total / count
    scale = 1.0 / np.sqrt(max(squares - count * mean * mean, 0.0) + count * noise * noise)
    for at in range(len(patch)):
        patch[at] = 0.0 if np.isnan(patch[at]) else (patch[at] - mean) * scale
    return True


@numba.njit(cache=True, nogil=True)
def _mean_correlation(patches):  # type: ignore[no-untyped-def]
    """Mean of all pairs' correlations among those views that agree best with the mean patch."""
    count, size = patches.shape
    mean = np.zeros(size, np.float32)
    for v in range(count):
        mean += patches[v]
    likeness = np.empty(count, np.float32)
    for v in range(count):
        likeness[v] = np.dot(patches[v], mean)
    kept = max(FEWEST_VIEWS, int(KEPT_PART * count))
    best = np.argsort(-likeness)[:kept]
    together = np.zeros(size, np.float32)
    alone = 0.0
    for v in best:
        together += patches[v]
        alone += np.dot(patches[v], patches[v])
    return (np.dot(together, together) - alone) / (kept * (kept - 1))


@numba.njit(cache=True, nogil=True)
def disagreement(samples, usual):  # type: ignore[no-untyped-def]
    """How differently views see each voxel (nx, ny, nz): variance over variance plus `usual`², of the middle views.

    The highest and lowest values are left out: highlights, shadows, views from which the voxel is hidden.
    """
    nx, ny, nz, view_count = samples.shape
    result = np.zeros((nx, ny, nz), np.float32)
    values = np.empty(view_count, np.float32)
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                found = 0
                for v in range(view_count):
                    if not np.isnan(samples[i, j, k, v]):
                        values[found] = samples[i, j, k, v]
                        found += 1
                left_out = int(0.5 * (1.0 - KEPT_PART) * found)
                if found - 2 * left_out < FEWEST_VIEWS:
                    continue
                middle = np.sort(values[:found])[left_out : found - left_out]
                spread = np.var(middle)
                result[i, j, k] = spread / (spread + usual * usual)
    return result


@numba.njit(cache=True, nogil=True)
def smooth_heights(costs, top, step_cost, jump_cost):  # type: ignore[no-untyped-def]
    """Height of each column in voxels, between voxels, with the least sum of costs along four directions.

    From column to column a height may stay level or keep its depth below the hull's `top` (-1: no column) for nothing.
    """
    nx, ny, nz = costs.shape
    total = np.zeros((nx, ny, nz), np.float32)
    _sweep(costs, top, (step_cost, jump_cost), total, 1, 0)
    _sweep(costs, top, (step_cost, jump_cost), total, -1, 0)
    _sweep(costs, top, (step_cost, jump_cost), total, 0, 1)
    _sweep(costs, top, (step_cost, jump_cost), total, 0, -1)
    level = np.full((nx, ny), np.float32(-1.0))
    for i in range(nx):
        for j in range(ny):
            if top[i, j] < 0:
                continue
            k = np.argmin(total[i, j])
            level[i, j] = k
            if 0 < k < nz - 1 and np.isfinite(total[i, j, k - 1]) and np.isfinite(total[i, j, k + 1]):
                before, here, after = total[i, j, k - 1], total[i, j, k], total[i, j, k + 1]
                bend = before - 2.0 * here + after
                if bend > 1e-6:
                    level[i, j] = k + 0.5 * (before - after) / bend
    return level


@numba.njit(cache=True, nogil=True)
def _arrive(path, k, step_cost):  # type: ignore[no-untyped-def]
    """Least cost of coming from level k of the column before, or from the one above or below it for a step."""
    nz = len(path)
    value = path[k] if 0 <= k < nz else np.float32(np.inf)
    if 0 <= k - 1 < nz:
        value = min(value, path[k - 1] + step_cost)
    if 0 <= k + 1 < nz:
        value = min(value, path[k + 1] + step_cost)
    return value


@numba.njit(cache=True, nogil=True)
def _sweep(costs, top, prices, total, di, dj):  # type: ignore[no-untyped-def]
    """Add the least costs of paths that arrive along one direction."""
    nx, ny, nz = costs.shape
    step_cost, jump_cost = prices
    path = np.zeros((nx, ny, nz), np.float32)
    for a in range(nx):
        i = a if di >= 0 else nx - 1 - a
        for b in range(ny):
            j = b if dj >= 0 else ny - 1 - b
            if top[i, j] < 0:
                continue
            p, q = i - di, j - dj
            has_before = 0 <= p < nx and 0 <= q < ny and top[p, q] >= 0
            least = np.min(path[p, q]) if has_before else np.float32(0.0)
            for k in range(nz):
                value = np.float32(0.0)
                if has_before:
                    level = _arrive(path[p, q], k, step_cost)
                    beside = _arrive(path[p, q], k - top[i, j] + top[p, q], step_cost)
                    value = min(min(level, beside) - least, jump_cost)
                path[i, j, k] = costs[i, j, k] + value
                total[i, j, k] += path[i, j, k]
