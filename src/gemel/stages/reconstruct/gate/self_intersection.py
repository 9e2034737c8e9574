"""Faces of a mesh that pass through each other.

Pairs whose boxes overlap are tested exactly: an edge of one pierces the other. Faces that share a corner are left out;
they always touch.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.geometry.mesh import Faces, Vertices

_EPS = 1e-9
"""Parts of an edge or a side within which meeting at a border counts."""


def intersecting_faces(vertices: Vertices, faces: Faces) -> Int[np.ndarray, " n"]:
    """Indices of the faces that another face passes through, in order."""
    corners = np.asarray(vertices, dtype=np.float64)[faces]  # (f, 3, 3)
    pairs = _candidates(corners, faces)
    if not len(pairs):
        return np.zeros(0, dtype=np.int64)
    first, second = corners[pairs[:, 0]], corners[pairs[:, 1]]
    is_hit = _pierces(first, second) | _pierces(second, first)
    return np.unique(pairs[is_hit])


def _candidates(corners: Float[np.ndarray, "f 3 3"], faces: Faces) -> Int[np.ndarray, "p 2"]:
    """Pairs of faces without a common corner whose boxes overlap."""
    from scipy.spatial import cKDTree

    middles = corners.mean(axis=1)
    radius = float(np.linalg.norm(corners - middles[:, None], axis=-1).max())
    pairs = cKDTree(middles).query_pairs(2.0 * radius, output_type="ndarray").astype(np.int64)
    low, high = corners.min(axis=1), corners.max(axis=1)
    a, b = pairs.T
    touches = ((low[a] <= high[b]) & (low[b] <= high[a])).all(axis=1)
    shares = (faces[a][:, :, None] == faces[b][:, None, :]).any(axis=(1, 2))
    return pairs[touches & ~shares]


def _pierces(edges_of: Float[np.ndarray, "p 3 3"], triangles: Float[np.ndarray, "p 3 3"]) -> Bool[np.ndarray, " p"]:
    """Whether any edge of the first triangles meets the second, border included (Möller and Trumbore 1997)."""
    a, b, c = np.moveaxis(triangles, 1, 0)
    e1, e2 = b - a, c - a
    hit = np.zeros(len(a), dtype=bool)
    for k in range(3):
        start, along = edges_of[:, k], edges_of[:, (k + 1) % 3] - edges_of[:, k]
        across = np.cross(along, e2)
        det = np.sum(e1 * across, axis=1)
        is_flat = np.abs(det) < 1e-18
        inverse = 1.0 / np.where(is_flat, 1.0, det)
        to_start = start - a
        u = np.sum(to_start * across, axis=1) * inverse
        other = np.cross(to_start, e1)
        v = np.sum(along * other, axis=1) * inverse
        t = np.sum(e2 * other, axis=1) * inverse
        inside = (u > -_EPS) & (v > -_EPS) & (u + v < 1.0 + _EPS) & (t > -_EPS) & (t < 1.0 + _EPS)
        hit |= inside & ~is_flat
    return hit
