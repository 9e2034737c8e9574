"""Any triangle mesh as a closed one of even triangles: through a signed distance on a grid.

Gaps are filled first. What a flood from outside cannot reach is inside, so doubled faces and inner parts do no harm;
near the surface the sign is that of the nearest face.
"""

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import GemelError, SourceError
from gemel.geometry import face_normals, sample_surface
from gemel.stages.reconstruct.generated.close_gaps import without_gaps
from gemel.stages.reconstruct.hull import Field
from gemel.stages.reconstruct.remesh import Mesh, even_mesh

_SAMPLES_PER_VOXEL = 12
_MARGIN = 4


def even_solid(
    vertices: Float[np.ndarray, "_ 3"],
    faces: Int[np.ndarray, "_ 3"],
    *,
    voxel_count: int,
    face_count: int,
    rng: np.random.Generator,
) -> Mesh:
    """Closed mesh of about `face_count` even faces, from a grid of `voxel_count` along the longest side."""
    nothing = SourceError(
        f"The model of {len(faces)} faces encloses no volume, also with its gaps filled.",
        remedy="close its holes in a mesh editor, or give another model",
    )
    if not len(faces) or not np.ptp(vertices, axis=0).any():
        raise nothing
    closed = without_gaps(vertices, faces)
    try:
        return even_mesh(signed_distance(*closed, voxel_count=voxel_count, rng=rng), face_count)
    except GemelError:
        raise nothing from None


def signed_distance(
    vertices: Float[np.ndarray, "_ 3"], faces: Int[np.ndarray, "_ 3"], *, voxel_count: int, rng: np.random.Generator
) -> Field:
    """Distance to the surface, negative inside, near the surface; farther away only its sign is right."""
    from scipy.ndimage import label
    from scipy.spatial import cKDTree

    low, high = vertices.min(axis=0), vertices.max(axis=0)
    spacing = float((high - low).max() / voxel_count)
    counts = np.ceil((high - low) / spacing).astype(np.int64) + 2 * _MARGIN + 1
    field = Field(np.zeros(tuple(counts), np.float32), low - _MARGIN * spacing, spacing)
    points = field.points.reshape(-1, 3)
    area = float(np.linalg.norm(np.cross(*_sides(vertices, faces)), axis=1).sum() / 2.0)
    samples, face = sample_surface(vertices, faces, int(_SAMPLES_PER_VOXEL * area / spacing**2) + 1000, rng)
    distance, nearest = cKDTree(samples).query(points, distance_upper_bound=4.0 * spacing)
    is_near = np.isfinite(distance)
    along = np.zeros(len(points))
    at = nearest[is_near]
    along[is_near] = np.sum((points[is_near] - samples[at]) * face_normals(vertices, faces)[face[at]], axis=1)
    is_wall = (distance < 0.9 * spacing).reshape(tuple(counts))
    pieces, _ = label(~is_wall)
    is_outside = (pieces == pieces[0, 0, 0]) & ~is_wall
    # Of the wall itself, what lies before its nearest face; faces that look inwards are turned by the flood's verdict.
    outward = 1.0 if np.mean(along.reshape(is_wall.shape)[is_outside & is_near.reshape(is_wall.shape)]) >= 0 else -1.0
    is_positive = is_outside | (is_wall & (outward * along.reshape(is_wall.shape) > 0.0))
    capped = np.minimum(np.where(is_near, distance, 4.0 * spacing), 4.0 * spacing).reshape(is_wall.shape)
    return Field(np.where(is_positive, capped, -capped).astype(np.float32), field.low, spacing)


def _sides(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    return b - a, c - a
