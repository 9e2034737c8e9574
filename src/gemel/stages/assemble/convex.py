"""An object's surface as convex pieces that a physics engine can touch."""

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import MissingExtraError
from gemel.stages.assemble.collider_gap import largest_gap
from gemel.stages.assemble.hull import hull_corners

Points = Float[np.ndarray, "_ 3"]
_MOST_CORNERS = 64
"""Corners of a piece; more make contacts slow and hardly better."""


def convex_pieces(
    vertices: Points, faces: Int[np.ndarray, "f 3"], *, concavity: float, convex_gap_m: float, face_count: int,
    rng: np.random.Generator,
) -> tuple[Points, ...]:  # fmt: skip
    """Corners of each piece [m]: one piece where the convex hull will do, else as many as CoACD cuts (Wei et al. 2022).

    The hull will do where it is nowhere farther than `convex_gap_m` from the surface.
    """
    whole = (hull_corners(vertices),)
    if largest_gap(vertices, faces, whole, rng) <= convex_gap_m:
        return whole
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
    """About `count` faces at most; CoACD's time grows steeply with their number."""
    if len(faces) <= 1.2 * count:
        return vertices, faces
    try:
        import fast_simplification
    except ModuleNotFoundError:
        raise MissingExtraError(
            "fast-simplification", extra="assemble", needed_for="Simplifying objects for contact"
        ) from None
    points, triangles = fast_simplification.simplify(
        vertices.astype(np.float32), faces.astype(np.int32), target_count=count
    )
    return np.asarray(points, dtype=np.float64), np.asarray(triangles, dtype=np.int64)
