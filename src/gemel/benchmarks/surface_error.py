"""How far a reconstructed surface is from the true one: exact distances of sampled points to triangles.

Distances between two sets of samples never fall below the samples' own spacing; these do.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gemel.geometry import SE3, SO3, face_areas, face_normals, sample_surface, volume
from gemel.geometry.nearest import nearest_on_triangles

Mesh = tuple[Float[np.ndarray, "v 3"], Int[np.ndarray, "f 3"]]

SAMPLES = 20_000
_DENSE = 60_000
"""Samples of a surface that tell which of its triangles may be nearest."""
_CANDIDATES = 16
_ROUNDS = 30


@dataclass(frozen=True)
class SurfaceError:
    """Differences of one surface from another."""

    root_chamfer_mm: float
    """Square root of the mean of the two mean squared distances."""
    hausdorff95_mm: float
    """Distance that 95 % of the points of both surfaces stay below."""
    largest_mm: float
    volume_ratio: float
    """Volume over true volume."""


class Surface:
    """A mesh that can be asked for its nearest points."""

    def __init__(self, mesh: Mesh, rng: np.random.Generator) -> None:
        from scipy.spatial import cKDTree

        keep = face_areas(*mesh) > 0.0
        self.mesh = (mesh[0], mesh[1][keep])
        points, self._face = sample_surface(*self.mesh, _DENSE, rng)
        # Corners too: a thin triangle may hold no sample at all.
        corners = self.mesh[0][self.mesh[1]].reshape(-1, 3)
        self._face = np.concatenate([self._face, np.repeat(np.arange(len(self.mesh[1])), 3)])
        self._tree = cKDTree(np.concatenate([points, corners]))
        self.normals = face_normals(*self.mesh)

    def nearest(
        self, points: Float[np.ndarray, "n 3"]
    ) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n"], Int[np.ndarray, "n"]]:
        """Nearest points on the surface, their distances [m] and faces."""
        _, at = self._tree.query(points, k=_CANDIDATES)
        faces = self._face[at]  # (n, k)
        corners = self.mesh[0][self.mesh[1][faces]]  # (n, k, 3, 3)
        found = nearest_on_triangles(np.broadcast_to(points[:, None], (*faces.shape, 3)), corners)
        distances = np.linalg.norm(found - points[:, None], axis=-1)
        best = np.argmin(distances, axis=1)
        rows = np.arange(len(points))
        return found[rows, best], distances[rows, best], faces[rows, best]


def surface_error(given: Mesh, true: Mesh, rng: np.random.Generator) -> SurfaceError:
    """Errors of one mesh against another, in the frame that they are in."""
    there = Surface(true, rng).nearest(sample_surface(*given, SAMPLES, rng)[0])[1]
    back = Surface(given, rng).nearest(sample_surface(*true, SAMPLES, rng)[0])[1]
    both = np.concatenate([there, back])
    return SurfaceError(
        root_chamfer_mm=1e3 * float(np.sqrt(0.5 * (np.mean(there**2) + np.mean(back**2)))),
        hausdorff95_mm=1e3 * float(np.quantile(both, 0.95)),
        largest_mm=1e3 * float(both.max()),
        volume_ratio=volume(*given) / volume(*true),
    )


def aligned(given: Mesh, true: Mesh, rng: np.random.Generator) -> tuple[Mesh, SE3]:
    """The mesh after the rigid motion that brings it nearest to the true one, and `T_true_given`.

    Iterated closest points with distances to tangent planes (Chen and Medioni 1992).
    """
    surface, points = Surface(true, rng), sample_surface(*given, 5000, rng)[0]
    T_true_given = SE3.identity()
    for _ in range(_ROUNDS):
        moved = T_true_given @ points
        nearest, distances, faces = surface.nearest(moved)
        kept = distances <= 3.0 * np.median(distances) + 1e-6
        normals, middle = surface.normals[faces][kept], moved[kept].mean(axis=0)
        J = np.concatenate([normals, np.cross(moved[kept] - middle, normals)], axis=1)
        residual = np.sum(normals * (nearest - moved)[kept], axis=1)
        step, *_ = np.linalg.lstsq(J, residual, rcond=1e-6)
        about = SE3(SO3.exp(step[3:]), middle + step[:3]) @ SE3(SO3.identity(), -middle)
        T_true_given = about @ T_true_given
        if np.abs(step).max() < 1e-7:
            break
    return (T_true_given @ given[0], given[1]), T_true_given
