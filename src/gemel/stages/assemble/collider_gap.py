"""How far the surface that touches is from the surface that is seen."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from gemel.geometry import face_areas, face_normals, sample_surface
from gemel.stages.assemble.hull import hull_mesh, is_inside

_SAMPLES = 4000
"""Points on either surface."""
_STEP_M = 1e-4
"""A point of a piece from which so short a step outwards ends in another piece is inside the solid, not on it."""

Points = Float[np.ndarray, "_ 3"]


def largest_gap(
    vertices: Points, faces: Int[np.ndarray, "_ 3"], pieces: Sequence[Points], rng: np.random.Generator
) -> float:
    """Largest distance of either surface from the other [m], over points spread on both.

    From the visible surface to the outside of the pieces, and back: what stands out and what is filled in.
    """
    from gemel.stages.assemble.nearest_kernel import triangle_distances

    seen, _ = sample_surface(vertices, faces, _SAMPLES, rng)
    meshes = [hull_mesh(piece) for piece in pieces]
    areas = np.array([face_areas(*mesh).sum() for mesh in meshes])
    outer, triangles = [], []
    for i, (mesh, part) in enumerate(zip(meshes, areas / areas.sum(), strict=True)):
        others = [piece for j, piece in enumerate(pieces) if j != i]
        points, on = sample_surface(*mesh, max(50, round(_SAMPLES * part)), rng)
        outer.append(points[_is_outside(points + _STEP_M * face_normals(*mesh)[on], others)])
        triangles.append(mesh[0][mesh[1]])
    towards_seen = triangle_distances(np.concatenate(outer), vertices[faces])
    towards_pieces = triangle_distances(seen, np.concatenate(triangles))
    return float(max(towards_seen.max(initial=0.0), towards_pieces.max(initial=0.0)))


def _is_outside(points: Points, pieces: Sequence[Points]) -> np.ndarray:
    inside = np.zeros(len(points), dtype=bool)
    for piece in pieces:
        inside |= is_inside(points, piece)
    return ~inside
