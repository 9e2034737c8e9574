"""Triangles for the renderer: primitives of links, hard edges cut open, and places on a texture.

The renderer recomputes vertex normals from the triangles that share a vertex, so an edge that should look sharp must
not share its vertices: `split_creases` gives every smooth patch its own.
"""

import numpy as np
from jaxtyping import Float, Int

from gemel.geometry import box_mesh, cylinder_mesh, face_normals, icosphere_mesh, merge_meshes

Mesh = tuple[Float[np.ndarray, "_ 3"], Int[np.ndarray, "_ 3"]]
_CREASE_DEG = 35.0
_ROUND = 20
"""Corners of a circle: every triangle of a moving part costs time in each frame."""
_TEXTURE_M = 0.12
"""Length of one repetition of a texture on an object [m]."""


def primitive_mesh(kind: str, size: Float[np.ndarray, "3"]) -> Mesh:
    """A MuJoCo primitive with MuJoCo's sizes (radius and half length, or half edges) [m]."""
    if kind == "box":
        return box_mesh(2.0 * size)
    if kind == "sphere":
        return icosphere_mesh(float(size[0]), 1)
    if kind == "cylinder":
        return cylinder_mesh(float(size[0]), 2.0 * float(size[1]), _ROUND)
    assert kind == "capsule", kind
    ball, body = icosphere_mesh(float(size[0]), 1), cylinder_mesh(float(size[0]), 2.0 * float(size[1]), _ROUND)
    ends = [(ball[0] + np.array([0.0, 0.0, z]), ball[1]) for z in (-size[1], size[1])]
    return merge_meshes([body, *ends])


def split_creases(vertices: Float[np.ndarray, "v 3"], faces: Int[np.ndarray, "f 3"]) -> Mesh:
    """The same surface with vertices doubled along edges sharper than 35 degrees."""
    corner_count = faces.size
    joined = _smooth_corner_pairs(vertices, faces)
    labels = np.arange(corner_count)
    while True:  # smallest label of each connected patch of corners
        lowest = labels.copy()
        np.minimum.at(lowest, joined[:, 0], labels[joined[:, 1]])
        np.minimum.at(lowest, joined[:, 1], labels[joined[:, 0]])
        if np.array_equal(lowest, labels):
            break
        labels = lowest
    patches, new_faces = np.unique(labels, return_inverse=True)
    return vertices[faces.ravel()[patches]], new_faces.reshape(-1, 3)


def _smooth_corner_pairs(vertices: np.ndarray, faces: np.ndarray) -> Int[np.ndarray, "pair 2"]:
    """Pairs of face corners that sit at one vertex and whose faces meet smoothly along an edge there."""
    corners = np.arange(faces.size).reshape(-1, 3)
    first = faces[:, [0, 1, 2]].ravel(), corners[:, [0, 1, 2]].ravel()
    second = faces[:, [1, 2, 0]].ravel(), corners[:, [1, 2, 0]].ravel()
    low_is_first = first[0] < second[0]
    key = np.where(low_is_first, first[0], second[0]) * len(vertices) + np.where(low_is_first, second[0], first[0])
    low_corner = np.where(low_is_first, first[1], second[1])
    high_corner = np.where(low_is_first, second[1], first[1])
    order = np.argsort(key, kind="stable")
    here, there = order[:-1], order[1:]
    normals = np.repeat(face_normals(vertices, faces), 3, axis=0)
    smooth = (key[here] == key[there]) & (
        np.sum(normals[here] * normals[there], axis=1) > np.cos(np.radians(_CREASE_DEG))
    )
    here, there = here[smooth], there[smooth]
    low = np.stack([low_corner[here], low_corner[there]], axis=-1)
    return np.concatenate([low, np.stack([high_corner[here], high_corner[there]], axis=-1)])


def texture_places(vertices: Float[np.ndarray, "v 3"], normals: Float[np.ndarray, "v 3"]) -> Float[np.ndarray, "v 2"]:
    """Texture coordinates by looking at each vertex along the axis that its normal is nearest to."""
    axis = np.argmax(np.abs(normals), axis=1)
    pick = np.array([(1, 2), (0, 2), (0, 1)])[axis]
    places = np.take_along_axis(vertices, pick, axis=1) / _TEXTURE_M
    return places + 0.37 * axis[:, None]  # each side its own part of the texture
