"""The inner loop of matching patches between two maps: normalised correlation over a window of shifts.

This file's whole point is numba, so it imports numba at module level; import it inside functions.
"""

import numpy as np
from numba import njit  # noqa: TID253 - this file exists for numba


@njit(cache=True, nogil=True, fastmath=True)  # type: ignore[untyped-decorator]
def correlate(first: np.ndarray, second: np.ndarray, corners: np.ndarray, patch: int, reach: int) -> np.ndarray:
    """Correlation (n, 2 reach + 1, 2 reach + 1) of patches of the first map with the second, shifted by (dy, dx).

    `first`, `second` (h, w) float32; `corners` (n, 2) top-left corners (row, column) in the first map.
    """
    size = 2 * reach + 1
    score = np.zeros((len(corners), size, size), np.float32)
    count = patch * patch
    own = np.empty((patch, patch), np.float32)
    for n in range(len(corners)):
        row, column = corners[n, 0], corners[n, 1]
        mean = np.float32(0.0)
        for i in range(patch):
            for j in range(patch):
                mean += first[row + i, column + j]
        mean /= count
        energy = np.float32(0.0)
        for i in range(patch):
            for j in range(patch):
                own[i, j] = first[row + i, column + j] - mean
                energy += own[i, j] * own[i, j]
        for dy in range(size):
            for dx in range(size):
                top, left = row + dy - reach, column + dx - reach
                product, total, square = np.float32(0.0), np.float32(0.0), np.float32(0.0)
                for i in range(patch):
                    for j in range(patch):
                        value = second[top + i, left + j]
                        product += own[i, j] * value
                        total += value
                        square += value * value
                spread = square - total * total / count
                score[n, dy, dx] = product / np.sqrt(max(energy * spread, np.float32(1e-20)))
    return score
