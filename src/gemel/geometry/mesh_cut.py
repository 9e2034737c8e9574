"""The part of a solid beyond a plane, measured without building its mesh.

Tetrahedra from a point of the plane to the faces beyond it add up to the cut-off volume: the lid that would close the
cut lies in the plane, so its own tetrahedra are flat and count nothing. Only faces that cross the plane are cut.
"""

import numpy as np
from jaxtyping import Float

from gemel.geometry.mesh import Faces, Vertices

Triangles = Float[np.ndarray, "_ 3 3"]


def moments_above(vertices: Vertices, faces: Faces, axis: int, height: float) -> tuple[float, Float[np.ndarray, "3"]]:
    """Volume [m³] and first moment [m⁴], about the origin, of the solid where coordinate `axis` exceeds `height` [m].

    The mesh must be watertight with faces that look outwards.
    """
    apex = np.zeros(3)
    apex[axis] = height
    corners = _cut(vertices[faces] - apex, axis)  # (n, 3, 3), the plane goes through the origin
    d = np.linalg.det(corners)
    volume = float(np.sum(d)) / 6.0
    first = d @ np.sum(corners, axis=1) / 24.0
    return volume, first + volume * apex


def _cut(corners: Triangles, axis: int) -> Triangles:
    """The parts of triangles where coordinate `axis` is positive, as triangles."""
    above = corners[:, :, axis] > 0.0
    count = above.sum(axis=1)
    one = _turned(corners[count == 1], above[count == 1])  # its first corner is above
    two = _turned(corners[count == 2], ~above[count == 2])  # its first corner is below
    tips = np.stack([one[:, 0], _crossing(one, 0, 1, axis), _crossing(one, 0, 2, axis)], axis=1)
    left, right = _crossing(two, 0, 1, axis), _crossing(two, 0, 2, axis)
    lower = np.stack([left, two[:, 1], two[:, 2]], axis=1)
    upper = np.stack([left, two[:, 2], right], axis=1)
    return np.concatenate([corners[count == 3], tips, lower, upper])


def _turned(corners: Triangles, is_odd: np.ndarray) -> Triangles:
    """Corners in the same cyclic order, beginning with the one that stands alone on its side of the plane."""
    order = (np.argmax(is_odd, axis=1)[:, None] + np.arange(3)) % 3
    return np.take_along_axis(corners, order[:, :, None], axis=1)


def _crossing(corners: Triangles, a: int, b: int, axis: int) -> Float[np.ndarray, "_ 3"]:
    """Where the edge from corner a to corner b meets the plane."""
    from_a, from_b = corners[:, a, axis], corners[:, b, axis]
    part = from_a / np.where(from_a == from_b, 1.0, from_a - from_b)
    return corners[:, a] + part[:, None] * (corners[:, b] - corners[:, a])
