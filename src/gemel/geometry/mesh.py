"""Predicates and measures on triangle meshes given as two arrays.

`vertices` (v, 3) holds positions [m], `faces` (f, 3) indices of three vertices each, counter-clockwise seen
from outside. Topology is read from the indices alone: two vertices at the same place are two vertices.
Nothing is repaired here; a mesh that fails a predicate is for its owner to mend.
"""

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import GemelError

Vertices = Float[np.ndarray, "v 3"]
Faces = Int[np.ndarray, "f 3"]
FaceVectors = Float[np.ndarray, "f 3"]
Moments = tuple[float, Float[np.ndarray, "3"], Float[np.ndarray, "3 3"]]


def face_normals(vertices: Vertices, faces: Faces) -> FaceVectors:
    """Outward unit normals; zero for faces without area."""
    return _unit_or_zero(_face_cross(vertices, faces))


def face_areas(vertices: Vertices, faces: Faces) -> Float[np.ndarray, "f"]:
    """Areas of the faces [m²]."""
    return np.asarray(0.5 * np.linalg.norm(_face_cross(vertices, faces), axis=-1))


def vertex_normals(vertices: Vertices, faces: Faces) -> Vertices:
    """Unit normals at the vertices, each the area-weighted mean of its faces; zero for unused vertices."""
    weighted = np.repeat(_face_cross(vertices, faces), 3, axis=0)  # (3 f, 3)
    sums = [np.bincount(faces.ravel(), weights=column, minlength=len(vertices)) for column in weighted.T]
    return _unit_or_zero(np.stack(sums, axis=-1))


def edges(vertices: Vertices, faces: Faces) -> Int[np.ndarray, "e 2"]:
    """Edges without repetition, the smaller index first."""
    unique = np.unique(_edge_numbers(vertices, np.sort(_directed_edges(vertices, faces), axis=-1)))
    return np.stack(np.divmod(unique, max(len(vertices), 1)), axis=-1)


def is_watertight(vertices: Vertices, faces: Faces) -> bool:
    """Whether every edge belongs to exactly two faces, so that the surface has no border."""
    undirected = np.sort(_directed_edges(vertices, faces), axis=-1)
    _, face_count = np.unique(_edge_numbers(vertices, undirected), return_counts=True)
    return bool(len(faces) > 0 and np.all(face_count == 2))


def is_winding_consistent(vertices: Vertices, faces: Faces) -> bool:
    """Whether neighbours agree on the side they face: no two run the same way along a shared edge."""
    directed = _edge_numbers(vertices, _directed_edges(vertices, faces))
    return len(np.unique(directed)) == len(directed)


def euler_characteristic(vertices: Vertices, faces: Faces) -> int:
    """Vertices minus edges plus faces, unused vertices left out: 2 for a closed ball, 0 for a torus."""
    return len(np.unique(faces)) - len(edges(vertices, faces)) + len(faces)


def component_count(vertices: Vertices, faces: Faces) -> int:
    """Number of pieces connected through shared vertices, unused vertices left out.

    Every vertex takes the smallest label around it, then labels jump to their own label, until nothing
    changes; the jumps keep the number of rounds small on long meshes.
    """
    _check_indices(vertices, faces)
    label = np.arange(len(vertices))
    while True:
        smallest = np.repeat(np.min(label[faces], axis=-1), 3)
        proposed = label.copy()
        np.minimum.at(proposed, label[faces.ravel()], smallest)
        proposed = proposed[proposed]
        if np.array_equal(proposed, label):
            return len(np.unique(label[faces]))
        label = proposed


def surface_area(vertices: Vertices, faces: Faces) -> float:
    """Total area [m²]."""
    return float(np.sum(face_areas(vertices, faces)))


def volume(vertices: Vertices, faces: Faces) -> float:
    """Signed volume enclosed [m³], positive when the faces look outwards; for watertight meshes."""
    return volume_moments(vertices, faces)[0]


def centroid(vertices: Vertices, faces: Faces) -> Float[np.ndarray, "3"]:
    """Centre of the enclosed volume [m]: the centre of mass of the solid at uniform density."""
    enclosed, first, _ = volume_moments(vertices, faces)
    if abs(enclosed) <= 1e-12 * surface_area(vertices, faces) ** 1.5:
        raise GemelError(
            f"The mesh encloses {enclosed:.3g} m³, so it has no volume centroid.",
            remedy="Give a watertight mesh; check it with is_watertight and is_winding_consistent.",
        )
    return np.asarray(first / enclosed)


def bounds(vertices: Vertices, faces: Faces) -> Float[np.ndarray, "2 3"]:
    """Smallest and largest coordinates [m] of the vertices that faces use."""
    used = _corners(vertices, faces).reshape(-1, 3)
    if len(used) == 0:
        raise GemelError("A mesh without faces has no bounds.", remedy="Check where the mesh comes from.")
    return np.stack([used.min(axis=0), used.max(axis=0)])


def sample_surface(
    vertices: Vertices, faces: Faces, count: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "n"]]:
    """`count` points [m] spread uniformly over the surface, and the face each lies on.

    Within a face, a point of the unit square beyond the diagonal is mirrored back into the triangle.
    """
    areas = face_areas(vertices, faces)
    face_index = rng.choice(len(faces), size=count, p=areas / np.sum(areas))
    uv = rng.random((count, 2))
    uv = np.where(np.sum(uv, axis=-1, keepdims=True) > 1.0, 1.0 - uv, uv)
    a, b, c = np.moveaxis(_corners(vertices, faces)[face_index], 1, 0)
    return a + uv[:, :1] * (b - a) + uv[:, 1:] * (c - a), face_index


def volume_moments(vertices: Vertices, faces: Faces) -> Moments:
    """Integrals of 1, p and p pᵀ over the enclosed volume: (m³, m⁴ (3,), m⁵ (3, 3)), about the origin.

    Sums signed tetrahedra from the origin to each face. A tetrahedron with corners 0, a, b, c has volume
    d/6, first moment d (a + b + c)/24 and second moment d (aaᵀ + bbᵀ + ccᵀ + ssᵀ)/120, where d = a · (b ×
    c) and s = a + b + c (Tonon 2004, in other notation).
    """
    corners = _corners(vertices, faces)  # (f, 3, 3)
    d = np.linalg.det(corners)
    s = np.sum(corners, axis=1)
    second = np.einsum("f,fki,fkj->ij", d, corners, corners) + np.einsum("f,fi,fj->ij", d, s, s)
    return float(np.sum(d)) / 6.0, d @ s / 24.0, second / 120.0


def _corners(vertices: Vertices, faces: Faces) -> Float[np.ndarray, "f 3 3"]:
    """Positions of the three corners of each face; axis 1 counts corners."""
    _check_indices(vertices, faces)
    return np.asarray(vertices[faces])


def _face_cross(vertices: Vertices, faces: Faces) -> FaceVectors:
    """Outward normals as long as twice the face's area."""
    a, b, c = np.moveaxis(_corners(vertices, faces), 1, 0)
    return np.cross(b - a, c - a)


def _directed_edges(vertices: Vertices, faces: Faces) -> Int[np.ndarray, "e 2"]:
    """The three edges of each face in the direction the face runs through them."""
    _check_indices(vertices, faces)
    return faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)


def _edge_numbers(vertices: Vertices, pairs: Int[np.ndarray, "e 2"]) -> Int[np.ndarray, "e"]:
    """One number for each pair of vertices: sorting numbers is many times faster than sorting rows."""
    return np.asarray(pairs[:, 0].astype(np.int64) * len(vertices) + pairs[:, 1])


def _unit_or_zero(rows: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3"]:
    """Rows at length 1, zero rows left as they are."""
    norm = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(norm > 0.0, norm, 1.0)


def _check_indices(vertices: Vertices, faces: Faces) -> None:
    """Refuse faces that point at vertices that are not there; negative indices would wrap around silently."""
    if faces.size == 0 or (faces.min() >= 0 and faces.max() < len(vertices)):
        return
    raise GemelError(
        f"Faces use vertices {faces.min()} to {faces.max()}, but the mesh has {len(vertices)} vertices, "
        f"numbered from 0.",
        remedy="Check whether the file counts from 1, or whether vertices were dropped without renumbering.",
    )
