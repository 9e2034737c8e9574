"""How far the surface that touches is from the surface that is seen."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from gemel.geometry import face_areas, face_normals, sample_surface
from gemel.stages.assemble.hull import hull_mesh, is_inside

_SAMPLES = 4000
"""Points on either surface, besides its corners."""
_STEP_M = 1e-4
"""A point of a piece from which so short a step outwards ends in another piece is inside the solid, not on it."""

_SHRUNK = 0.98
"""A triangle in a cut has its corners on the border of the cut, not inside."""

Points = Float[np.ndarray, "_ 3"]
Triangles = Float[np.ndarray, "_ 3 3"]


def largest_gap(
    vertices: Points, faces: Int[np.ndarray, "_ 3"], pieces: Sequence[Points], rng: np.random.Generator
) -> float:
    """Largest distance of either surface from the other [m]: sampled, over all corners and points spread between them.

    From the visible surface to the outside of the pieces, and back: what stands out and what is filled in.
    """
    from gemel.stages.assemble.nearest_kernel import triangle_distances

    seen = np.concatenate([sample_surface(vertices, faces, _SAMPLES, rng)[0], vertices[np.unique(faces)]])
    meshes = [hull_mesh(piece) for piece in pieces]
    areas = np.array([face_areas(*mesh).sum() for mesh in meshes])
    outer, triangles = [], []
    for i, (mesh, part) in enumerate(zip(meshes, areas / areas.sum(), strict=True)):
        others = [piece for j, piece in enumerate(pieces) if j != i]
        points, on = sample_surface(*mesh, max(50, round(_SAMPLES * part)), rng)
        steps = _STEP_M * face_normals(*mesh)
        outer.append(points[_is_outside(points + steps[on], others)])
        away = mesh[0] - mesh[0].mean(axis=0)
        away *= _STEP_M / np.linalg.norm(away, axis=1, keepdims=True)
        outer.append(mesh[0][_is_outside(mesh[0] + away, others)])
        triangles.append(_outer_triangles(mesh[0][mesh[1]], steps, others))
    towards_seen = triangle_distances(np.concatenate(outer), vertices[faces])
    towards_pieces = triangle_distances(seen, np.concatenate(triangles))
    return float(max(towards_seen.max(initial=0.0), towards_pieces.max(initial=0.0)))


def _outer_triangles(corners: Triangles, steps: Points, others: Sequence[Points]) -> Triangles:
    """Triangles but for those of which a short step outwards ends wholly in one other piece: cuts through the solid."""
    middles = corners.mean(axis=1, keepdims=True)
    shifted = middles + _SHRUNK * (corners - middles) + steps[:, None]
    is_cut = np.zeros(len(corners), dtype=bool)
    for other in others:
        is_cut |= is_inside(shifted.reshape(-1, 3), other).reshape(-1, 3).all(axis=1)
    return corners[~is_cut]


def _is_outside(points: Points, pieces: Sequence[Points]) -> np.ndarray:
    inside = np.zeros(len(points), dtype=bool)
    for piece in pieces:
        inside |= is_inside(points, piece)
    return ~inside
