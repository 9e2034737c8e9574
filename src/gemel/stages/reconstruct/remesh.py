"""A closed mesh of even triangles from a signed distance, of whatever topology the distance has.

Marching tetrahedra find the surface with many uneven triangles; short edges are then collapsed, edges flipped for even
valences, vertices moved along the surface to the middle of their neighbours and back onto it, and again (Botsch and
Kobbelt 2004, without splits: the start is finer than the goal everywhere).
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import GemelError
from gemel.geometry import edges, face_areas, vertex_normals
from gemel.geometry.isosurface import grid_isosurface_mesh
from gemel.stages.reconstruct.hull import Field

Mesh = tuple[Float[np.ndarray, "v 3"], Int[np.ndarray, "f 3"]]

Coarseness = Callable[[Float[np.ndarray, "v 3"], Int[np.ndarray, "f 3"]], Float[np.ndarray, " v"]]

ROUNDS = 8
BLUR_VOXELS = 0.8
"""Steps of the voxels are smoothed with this standard deviation before the surface is found."""


def even_mesh(field: Field, face_count: int, coarseness: Coarseness | None = None) -> Mesh:
    """Closed mesh of the largest piece of the field's surface with about `face_count` faces.

    `coarseness` says of vertices of a first, fine mesh how much longer than elsewhere edges may be there.
    """
    from scipy.spatial import cKDTree

    from gemel.stages.reconstruct.remesh_kernel import collapse_short, flip_for_valence

    smooth = _smoothed(field)
    vertices, faces = _largest_piece(
        *grid_isosurface_mesh(smooth.values.astype(np.float64), smooth.low, smooth.spacing)
    )
    fine, factors = cKDTree(vertices), np.ones(len(vertices)) if coarseness is None else coarseness(vertices, faces)
    wanted = face_areas(vertices, faces) / np.mean(factors[faces], axis=1) ** 2
    edge = float(np.sqrt(wanted.sum() / face_count / (np.sqrt(3.0) / 4.0)))
    for turn in range(ROUNDS):
        shortest = (0.4 + 0.4 * min(1.0, turn / 3)) * edge
        collapse_short(vertices, faces, factors[fine.query(vertices)[1]], shortest, 4.0 / 3.0 * edge)
        vertices, faces = _compacted(vertices, faces)
        flip_for_valence(vertices, faces, np.bincount(faces.ravel(), minlength=len(vertices)))
        vertices = _onto(smooth, _relaxed(vertices, faces))
    return vertices, faces


def _smoothed(field: Field) -> Field:
    from scipy.ndimage import gaussian_filter

    reach, layers = 3.0 * field.spacing, 3
    # Layers of outside all round: a surface that touches the border would be open.
    padded = np.pad(np.clip(field.values, -reach, reach), layers, constant_values=np.float32(reach))
    return Field(gaussian_filter(padded, BLUR_VOXELS), field.low - layers * field.spacing, field.spacing)


def _largest_piece(vertices: np.ndarray, faces: np.ndarray) -> Mesh:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    if not len(faces):
        raise GemelError("The hull has no surface: it is empty.", remedy="check masks and camera poses")
    ends = faces[:, [0, 1, 1, 2]].reshape(-1, 2)
    graph = coo_matrix((np.ones(len(ends)), ends.T), shape=(len(vertices), len(vertices)))
    _, label = connected_components(graph, directed=False)
    sizes = np.bincount(label[faces[:, 0]])
    return _compacted(vertices, faces[label[faces[:, 0]] == np.argmax(sizes)])


def _compacted(vertices: np.ndarray, faces: np.ndarray) -> Mesh:
    """Without removed faces and unused vertices."""
    kept = faces[faces[:, 0] >= 0]
    used, flat = np.unique(kept, return_inverse=True)
    return np.ascontiguousarray(vertices[used]), np.ascontiguousarray(flat.reshape(-1, 3))


def _relaxed(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Vertices moved halfway to the middle of their neighbours, within the tangent plane."""
    pairs = edges(vertices, faces)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    sums = np.stack([np.bincount(both[:, 0], weights=vertices[both[:, 1], axis]) for axis in range(3)], axis=-1)
    towards = sums / np.bincount(both[:, 0])[:, None] - vertices
    normals = vertex_normals(vertices, faces)
    return vertices + 0.5 * (towards - normals * np.sum(towards * normals, axis=1, keepdims=True))


def _onto(field: Field, vertices: np.ndarray) -> np.ndarray:
    """Vertices moved onto the zero of the field, along its slope, by at most a voxel."""
    from scipy.ndimage import map_coordinates

    def value(points: np.ndarray) -> np.ndarray:
        return map_coordinates(field.values, ((points - field.low) / field.spacing).T, order=1, mode="nearest")

    h = 0.5 * field.spacing
    slope = np.stack([value(vertices + h * axis) - value(vertices - h * axis) for axis in np.eye(3)], axis=-1) / (2 * h)
    steep = np.sum(slope**2, axis=1, keepdims=True)
    step = value(vertices)[:, None] * slope / np.maximum(steep, 0.05)
    size = np.linalg.norm(step, axis=1, keepdims=True)
    return vertices - step * np.minimum(1.0, field.spacing / np.maximum(size, 1e-12))
