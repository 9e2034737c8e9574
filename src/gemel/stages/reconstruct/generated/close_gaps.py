"""Gaps of a mesh, filled: each loop of border edges gets a fan of triangles round its middle."""

import numpy as np
from jaxtyping import Float, Int

from gemel.stages.reconstruct.remesh import Mesh

_SAME_PART = 1e-6
"""Vertices nearer than this part of the mesh's size are one: files often have one for each face."""


def without_gaps(vertices: Float[np.ndarray, "_ 3"], faces: Int[np.ndarray, "_ 3"]) -> Mesh:
    """The mesh with its border loops filled; borders that do not close to loops are left."""
    size = float(np.ptp(vertices, axis=0).max())
    _, first, same = np.unique(
        np.round(vertices / (_SAME_PART * size)).astype(np.int64), axis=0, return_index=True, return_inverse=True
    )
    welded = same.reshape(-1)[faces]
    points = vertices[first]
    fans: list[tuple[int, int, int]] = []
    middles: list[np.ndarray] = []
    for loop in _border_loops(welded):
        middle = len(points) + len(middles)
        middles.append(points[loop].mean(axis=0))
        fans += [(b, a, middle) for a, b in zip(loop, [*loop[1:], loop[0]], strict=True)]
    if not fans:
        return vertices, faces
    return np.concatenate([points, middles]), np.concatenate([welded, np.array(fans, dtype=welded.dtype)])


def _border_loops(faces: Int[np.ndarray, "_ 3"]) -> list[list[int]]:
    """Vertices along each closed border, in the direction of its faces."""
    count = int(faces.max(initial=0)) + 1
    starts, ends = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).T
    forth = np.unique((starts * count + ends)[starts != ends])
    after: dict[int, list[int]] = {}
    for edge in forth[~np.isin(forth, ends * count + starts)].tolist():
        after.setdefault(edge // count, []).append(edge % count)
    loops = []
    for start in list(after):
        while after.get(start):
            loop, at = [start], after[start].pop()
            while at != start and after.get(at):
                loop.append(at)
                at = after[at].pop()
            if at == start and len(loop) > 2:
                loops.append(loop)
    return loops
