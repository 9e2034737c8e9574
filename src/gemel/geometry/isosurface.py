"""Watertight meshes of any topology from a signed distance, by marching tetrahedra.

Every grid cell is cut into six tetrahedra around its long diagonal, which match across neighbouring cells; each
tetrahedron whose corners lie on both sides of the surface gives one or two triangles. A vertex belongs to one
grid edge and is shared by all triangles that touch it, so the surface has no border inside the grid. (Doi and Koide
1991.)
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

Mesh = tuple[Float[np.ndarray, "_ 3"], Int[np.ndarray, "_ 3"]]
Distance = Callable[[Float[np.ndarray, "n 3"]], Float[np.ndarray, "n"]]

# Corner number of a cell = 4 x + 2 y + z; each row is a tetrahedron of positive orientation along 0 -> 7.
_TETRAHEDRA = np.array([(0, 4, 6, 7), (0, 6, 2, 7), (0, 2, 3, 7), (0, 3, 1, 7), (0, 1, 5, 7), (0, 5, 4, 7)])
_SMALLEST = 1e-3
"""Vertices keep this part of a grid edge away from its ends, so that no triangle degenerates to a point."""


def isosurface_mesh(distance: Distance, low: tuple[float, ...], high: tuple[float, ...], spacing: float) -> Mesh:
    """Surface where the signed distance [m] is zero (negative inside); it must lie inside the given bounds."""
    counts = tuple(math.ceil((end - start) / spacing) + 1 for start, end in zip(low, high, strict=True))
    points = np.asarray(low) + spacing * np.indices(counts).reshape(3, -1).T
    return grid_isosurface_mesh(distance(points).reshape(counts), np.asarray(low), spacing)


def grid_isosurface_mesh(values: Float[np.ndarray, "nx ny nz"], low: Float[np.ndarray, "3"], spacing: float) -> Mesh:
    """Surface where values on a grid are zero (negative inside); `low` is the position of the first one [m].

    The border of the grid must be outside. Without any sign change the mesh has no faces.
    """
    flat_values = values.ravel()
    corners = _mixed_cells(values)[:, _TETRAHEDRA].reshape(-1, 4)  # (tetrahedron, 4)
    inside = flat_values[corners] < 0.0
    mixed = inside.any(axis=1) & ~inside.all(axis=1)
    triangles = _triangles(corners[mixed], inside[mixed])  # (f, 3, 2): each vertex as a grid edge
    pairs = np.sort(triangles.reshape(-1, 2), axis=1)
    numbers, flat = np.unique(pairs[:, 0] * values.size + pairs[:, 1], return_inverse=True)
    edges = np.stack(np.divmod(numbers, values.size), axis=-1)
    used, where = np.unique(edges, return_inverse=True)
    points = low + spacing * np.stack(np.unravel_index(used, values.shape), axis=-1)
    return _cross(points, flat_values[used], where.reshape(-1, 2)), flat.reshape(-1, 3)


def _mixed_cells(values: Float[np.ndarray, "nx ny nz"]) -> Int[np.ndarray, "cell 8"]:
    """Corners of the cells that have both signs; all others have no surface."""
    inside = values < 0.0
    corners = [inside[i : i - 1 or None, j : j - 1 or None, k : k - 1 or None] for i, j, k in np.ndindex(2, 2, 2)]
    count = np.sum(corners, axis=0, dtype=np.int8)
    cells = np.argwhere((count > 0) & (count < 8))
    strides = np.array([values.shape[1] * values.shape[2], values.shape[2], 1])
    offsets = np.stack(np.unravel_index(np.arange(8), (2, 2, 2)), axis=-1) @ strides
    return np.asarray((cells @ strides)[:, None] + offsets)


def _triangles(corners: np.ndarray, inside: np.ndarray) -> Int[np.ndarray, "f 3 2"]:
    """Triangles of mixed tetrahedra, faces outward; vertices are pairs (inside corner, outside corner)."""
    found = []
    for pattern in range(1, 15):
        flags = np.array([bool(pattern >> i & 1) for i in range(4)])
        rows = corners[(inside == flags).all(axis=1)]
        found += [rows[:, np.array(triangle)] for triangle in _case(flags)]
    return np.concatenate(found)


def _case(flags: np.ndarray) -> list[list[tuple[int, int]]]:
    """Triangles of one sign pattern, as pairs of corner numbers of the tetrahedron."""
    ins, outs = np.flatnonzero(flags).tolist(), np.flatnonzero(~flags).tolist()
    if len(ins) == 2:
        (a, b), (c, d) = ins, outs
        quad = [(a, c), (a, d), (b, d), (b, c)]
        return _turned([[quad[0], quad[1], quad[2]], [quad[0], quad[2], quad[3]]])
    one, rest = (ins[0], outs) if len(ins) == 1 else (outs[0], ins)
    pairs = [(one, other) if len(ins) == 1 else (other, one) for other in rest]
    return _turned([pairs])


def _turned(triangles: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """The same triangles, turned round where they would look inwards."""
    unit = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 1.0, 1.0)])
    turned = []
    for triangle in triangles:
        a, b, c = (0.5 * (unit[i] + unit[j]) for i, j in triangle)
        outward = np.mean([unit[j] - unit[i] for i, j in triangle], axis=0)
        turned.append(triangle if np.dot(np.cross(b - a, c - a), outward) > 0.0 else triangle[::-1])
    return turned


def _cross(points: np.ndarray, values: np.ndarray, edges: np.ndarray) -> Float[np.ndarray, "v 3"]:
    """Where the surface crosses each grid edge, by linear interpolation."""
    first, second = values[edges[:, 0]], values[edges[:, 1]]
    part = np.clip(first / (first - second), _SMALLEST, 1.0 - _SMALLEST)[:, None]
    return np.asarray((1.0 - part) * points[edges[:, 0]] + part * points[edges[:, 1]])
