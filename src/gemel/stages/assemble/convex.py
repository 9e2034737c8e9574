"""An object's surface as convex pieces that a physics engine can touch."""

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import MissingExtraError
from gemel.geometry import volume
from gemel.stages.assemble.collider_gap import largest_gap
from gemel.stages.assemble.hull import fewer_corners, hull_corners

Points = Float[np.ndarray, "_ 3"]
_MOST_CORNERS = 64
"""Corners of a piece; more make contacts slow and hardly better."""
_HASTES = (7.0, 5.0, 3.0, 1.0)
"""How greedily a mesh is simplified, the next where one turned thin walls inside out."""
_VOLUME_PART = 0.02
"""Part of the volume that simplifying may change."""


def convex_pieces(
    vertices: Points, faces: Int[np.ndarray, "f 3"], *, concavity: float, convex_gap_m: float, face_count: int,
    rng: np.random.Generator,
) -> tuple[Points, ...]:  # fmt: skip
    """Corners of each piece [m]: one piece where the convex hull will do, else as many as CoACD cuts (Wei et al. 2022).

    The hull will do where it is nowhere farther than `convex_gap_m` from the surface; of its corners as few are kept as
    that allows.
    """
    corners = hull_corners(vertices)
    if largest_gap(vertices, faces, (corners,), rng) <= convex_gap_m:
        most = _MOST_CORNERS
        while most < len(corners):
            fewer = (fewer_corners(corners, most),)
            if largest_gap(vertices, faces, fewer, rng) <= convex_gap_m:
                return fewer
            most *= 2
        return (corners,)
    return _cut(*_simplified(vertices, faces, face_count), concavity)


def _cut(vertices: Points, faces: np.ndarray, concavity: float) -> tuple[Points, ...]:
    try:
        import coacd
    except ModuleNotFoundError:
        raise MissingExtraError("coacd", extra="assemble", needed_for="Cutting objects into convex pieces") from None
    coacd.set_log_level("error")
    parts = coacd.run_coacd(
        coacd.Mesh(vertices, faces), threshold=concavity, max_ch_vertex=_MOST_CORNERS, seed=0, mcts_iterations=60
    )
    return tuple(hull_corners(np.asarray(corners, dtype=np.float64)) for corners, _ in parts)


def _simplified(vertices: Points, faces: np.ndarray, count: int) -> tuple[Points, np.ndarray]:
    """About `count` faces, more where fewer would change the shape; CoACD's time grows steeply with their number."""
    if len(faces) <= 1.2 * count:
        return vertices, faces
    try:
        import fast_simplification
    except ModuleNotFoundError:
        raise MissingExtraError(
            "fast-simplification", extra="assemble", needed_for="Simplifying objects for contact"
        ) from None
    middle, size = vertices.mean(axis=0), float(np.ptp(vertices, axis=0).max())
    unit = ((vertices - middle) / size).astype(np.float32)  # its tolerances are absolute: metres would be too small
    found = vertices, faces
    for haste in _HASTES:
        points, triangles = fast_simplification.simplify(unit, faces.astype(np.int32), target_count=count, agg=haste)
        found = size * np.asarray(points, dtype=np.float64) + middle, np.asarray(triangles, dtype=np.int64)
        if abs(volume(*found) / volume(vertices, faces) - 1.0) < _VOLUME_PART:
            return found
    return found
