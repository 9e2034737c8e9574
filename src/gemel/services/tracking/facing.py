"""Which way the faces of a mesh look, in a few groups: parts that light falls on alike."""

import numpy as np
from jaxtyping import Float, Int

_ROUNDS = 20


def facing_groups(
    vertices: Float[np.ndarray, "v 3"], faces: Int[np.ndarray, "f 3"], *, count: int
) -> Int[np.ndarray, " f"]:
    """The group of each face, by k-means of the normals on the sphere, weighted with the faces' areas.

    Groups start at the normals that are farthest from all before them, so the result depends on nothing random.
    """
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    normals = normals / np.maximum(areas, 1e-12)[:, None]
    middles = [normals[np.argmax(areas)]]
    while len(middles) < count:
        gap = 1.0 - np.max(normals @ np.array(middles).T, axis=1)
        middles.append(normals[np.argmax(gap * areas)])
    centres = np.array(middles)
    for _ in range(_ROUNDS):
        group = np.argmax(normals @ centres.T, axis=1)
        sums = np.stack([np.bincount(group, areas * normals[:, axis], count) for axis in range(3)], axis=-1)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(length > 1e-12, sums / np.maximum(length, 1e-12), centres)
    return np.argmax(normals @ centres.T, axis=1)
