"""Objects on the table: where they stand, and bottoms that are flat enough to stand on.

A reconstructed bottom is never seen and carries noise. One high corner of a millimetre and the object rocks in the
simulator, which it never did on the table. Where the bottom is flat up to noise, its corners are put into one plane.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3

_FOOTPRINT_PART = 0.4
"""A bottom is flat when the part of it near the table spans so much of the object's shadow: a ball's or a lying
cylinder's does not."""
_BOTTOM_PART = 1.0 / 3.0
"""How much of a piece's own height may be noise of its bottom: above that its top begins."""

Points = Float[np.ndarray, "_ 3"]


def lowest(pieces: Sequence[Points], T_world_object: SE3) -> float:
    """Height of the lowest corner in the world [m]."""
    return float(min((T_world_object @ piece)[:, 2].min() for piece in pieces))


def with_flat_bottom(pieces: Sequence[Points], T_world_object: SE3, flat_m: float) -> tuple[Points, ...]:
    """The pieces with all corners that are within `flat_m` of the lowest put into its horizontal plane.

    Unchanged where the object has no flat bottom. Of a thin piece only the lower third can be its bottom.
    """
    in_world = [np.asarray(T_world_object @ piece) for piece in pieces]
    floor = min(float(points[:, 2].min()) for points in in_world)
    if not _is_flat(np.concatenate(in_world), floor + flat_m):
        return tuple(pieces)
    T_object_world = T_world_object.inverse()
    flat = []
    for piece, points in zip(pieces, in_world, strict=True):
        height_m = float(np.ptp(points[:, 2]))
        points[points[:, 2] < floor + min(flat_m, _BOTTOM_PART * height_m), 2] = floor
        flat.append(_corners_or(piece, np.asarray(T_object_world @ points)))
    return tuple(flat)


def _corners_or(piece: Points, changed: Points) -> Points:
    """The corners of a changed piece; the piece itself where the change has left it no volume."""
    from scipy.spatial import QhullError

    from gemel.stages.assemble.hull import hull_corners

    try:
        return hull_corners(changed)
    except QhullError:
        return piece


def _is_flat(points: Points, ceiling: float) -> bool:
    """Whether the corners below a height span a good part of the shadow."""
    low = points[points[:, 2] < ceiling]
    return _area(low[:, :2]) > _FOOTPRINT_PART * _area(points[:, :2])


def _area(points: Float[np.ndarray, "_ 2"]) -> float:
    """Area of the convex hull of points in a plane [m²]; zero for fewer than three or for a line."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 3:
        return 0.0
    try:
        return float(ConvexHull(points).volume)  # in two dimensions qhull calls the area volume
    except QhullError:
        return 0.0
