"""How far an asset's splats and its mesh are apart, both ways: physics and pictures have to mean the same surface."""

import numpy as np
from jaxtyping import Float

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SO3, sample_surface
from gemel.geometry.nearest import nearest_on_triangles
from gemel.services.render.bound_gaussians import gaussians_of

SPLAT_PART = (0.03, 0.01)
"""Distance of splats and mesh past which an asset fails and past which it is doubtful, as part of its longest side."""
_SAMPLES = 20_000
_PER_SPLAT = 4
_CANDIDATES = 8
_OPAQUE = 0.3
"""Gaussians below this opacity show nothing to speak of."""
_COVERED_SIGMAS = 2.0
"""A point within so many standard deviations of a splat is covered by it."""


def mesh_splat_distance(mesh: SplatMesh, rng: np.random.Generator) -> float:
    """Root of the mean of the two mean squared distances [m].

    From points drawn from the splats to the mesh, and from points of the seen mesh to what splats cover.
    """
    from scipy.spatial import cKDTree

    splats = gaussians_of(mesh)
    kept = np.flatnonzero(splats.opacities > _OPAQUE)
    if not len(kept):
        return float("inf")
    means = splats.means[kept].astype(np.float64)
    R = SO3(splats.rotations[kept].astype(np.float64)).as_matrix()
    scales = np.maximum(splats.scales[kept].astype(np.float64), 1e-9)
    surface, face = sample_surface(mesh.vertices, mesh.faces, _SAMPLES, rng)
    drawn = rng.normal(size=(len(kept), _PER_SPLAT, 3)) * scales[:, None]
    points = (means[:, None] + np.einsum("gij,gnj->gni", R, drawn)).reshape(-1, 3)
    nearest = face[cKDTree(surface).query(points)[1]]
    there = np.linalg.norm(points - nearest_on_triangles(points, mesh.vertices[mesh.faces[nearest]]), axis=1)
    is_seen = mesh.is_seen[mesh.faces[face]].all(axis=1)
    seen = surface[is_seen] if is_seen.any() else surface
    near = cKDTree(means).query(seen, k=min(_CANDIDATES, len(means)))[1].reshape(len(seen), -1)
    back = _uncovered(seen, means[near], R[near], scales[near])
    return float(np.sqrt(0.5 * (np.mean(there**2) + np.mean(back**2))))


def _uncovered(
    points: Float[np.ndarray, "n 3"],
    means: Float[np.ndarray, "n k 3"],
    R: Float[np.ndarray, "n k 3 3"],
    scales: Float[np.ndarray, "n k 3"],
) -> Float[np.ndarray, " n"]:
    """How far each point lies outside the nearest splat's ellipsoid [m], along the line to its centre."""
    away = points[:, None] - means
    deviations = np.linalg.norm(np.einsum("nkij,nki->nkj", R, away) / scales, axis=-1)
    outside = 1.0 - _COVERED_SIGMAS / np.maximum(deviations, _COVERED_SIGMAS)
    return np.asarray((np.linalg.norm(away, axis=-1) * outside).min(axis=1))
