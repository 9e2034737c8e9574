"""Watertight meshes of simple solids, centred on the origin, faces outward; for tests, demos and proxies.

The curved ones are inscribed: every vertex lies on the true surface, so area and volume approach it from
below. Lengths are in metres. Each function returns (vertices, faces), see `mesh.py`.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import GemelError
from gemel.geometry.mesh import Faces, Vertices

# The sizes have no names: meshes of several sizes meet in one function.
Mesh = tuple[Float[np.ndarray, "_ 3"], Int[np.ndarray, "_ 3"]]

_BOX_FACES = (
    *((0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)),
    *((2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)),
)
_ICOSAHEDRON_FACES = (
    *((0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11)),
    *((1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6), (7, 1, 8)),
    *((3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9)),
    *((4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7), (9, 8, 1)),
)


def box_mesh(size: "Float[np.ndarray, '3'] | tuple[float, float, float]") -> Mesh:
    """Box with the given edge lengths: 8 vertices, 12 faces."""
    _check_positive(size_x=size[0], size_y=size[1], size_z=size[2])
    # Vertex number = 4 [x > 0] + 2 [y > 0] + [z > 0].
    signs = np.stack(np.unravel_index(np.arange(8), (2, 2, 2)), axis=-1) - 0.5
    return signs * np.asarray(size, dtype=np.float64), np.array(_BOX_FACES, dtype=np.int64)


def icosphere_mesh(radius: float, subdivision_count: int = 3) -> Mesh:
    """Sphere from an icosahedron whose faces are split in four `subdivision_count` times: 20 · 4ⁿ faces."""
    _check_positive(radius=radius)
    g = (1.0 + np.sqrt(5.0)) / 2.0
    rows = [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g)]
    rows += [(0, -1, -g), (0, 1, -g), (g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)]
    vertices, faces = np.array(rows, dtype=np.float64), np.array(_ICOSAHEDRON_FACES, dtype=np.int64)
    vertices /= np.linalg.norm(vertices, axis=-1, keepdims=True)
    for _ in range(subdivision_count):
        vertices, faces = _split_in_four(vertices, faces)
        vertices /= np.linalg.norm(vertices, axis=-1, keepdims=True)
    return radius * vertices, faces


def cylinder_mesh(radius: float, length: float, segment_count: int = 32) -> Mesh:
    """Cylinder along z, as a prism over a regular polygon: two rings and the two centres of the caps."""
    _check_positive(radius=radius, length=length)
    _check_segments(segment_count)
    angle_rad = 2.0 * np.pi * np.arange(segment_count) / segment_count
    ring = np.stack([radius * np.cos(angle_rad), radius * np.sin(angle_rad)], axis=-1)
    low = np.column_stack([ring, np.full(segment_count, -length / 2.0)])
    centres = np.array([[0.0, 0.0, -length / 2.0], [0.0, 0.0, length / 2.0]])
    i = np.arange(segment_count)
    j, up = (i + 1) % segment_count, segment_count
    bottom, top = np.full_like(i, 2 * up), np.full_like(i, 2 * up + 1)
    triangles = [(i, j, j + up), (i, j + up, i + up), (bottom, j, i), (top, i + up, j + up)]
    faces = np.concatenate([np.stack(corner, axis=-1) for corner in triangles])
    return np.concatenate([low, low * np.array([1.0, 1.0, -1.0]), centres]), faces


def capsule_mesh(radius: float, length: float, segment_count: int = 32) -> Mesh:
    """Cylinder along z of the given length with a half sphere on each end: rings of latitude and two poles."""
    _check_positive(radius=radius, length=length)
    _check_segments(segment_count)
    ring_count = max(segment_count // 4, 2)
    latitude_rad = 0.5 * np.pi * np.arange(ring_count) / ring_count
    rings = [(radius * np.cos(a), length / 2.0 + radius * np.sin(a)) for a in latitude_rad]
    profile = [(r, -z) for r, z in reversed(rings)] + rings
    angle_rad = 2.0 * np.pi * np.arange(segment_count) / segment_count
    circle = np.stack([np.cos(angle_rad), np.sin(angle_rad)], axis=-1)
    layers = [np.column_stack([r * circle, np.full(segment_count, z)]) for r, z in profile]
    poles = np.array([[0.0, 0.0, -length / 2.0 - radius], [0.0, 0.0, length / 2.0 + radius]])
    i = np.arange(segment_count)
    j, bottom = (i + 1) % segment_count, len(profile) * segment_count
    faces = [np.stack([np.full_like(i, bottom), j, i], axis=-1)]
    for layer in range(len(profile) - 1):
        low, high = layer * segment_count, (layer + 1) * segment_count
        faces += [np.stack([low + i, low + j, high + j], axis=-1), np.stack([low + i, high + j, high + i], axis=-1)]
    last = (len(profile) - 1) * segment_count
    faces += [np.stack([last + i, last + j, np.full_like(i, bottom + 1)], axis=-1)]
    return np.concatenate([*layers, poles]), np.concatenate(faces)


def torus_mesh(
    major_radius: float, minor_radius: float, major_segment_count: int = 32, minor_segment_count: int = 16
) -> Mesh:
    """Torus around z: a tube of `minor_radius` whose centre line is a circle of `major_radius`."""
    _check_positive(minor_radius=minor_radius, major_minus_minor_radius=major_radius - minor_radius)
    _check_segments(min(major_segment_count, minor_segment_count))
    shape = (major_segment_count, minor_segment_count)
    a, b = (x.ravel() for x in np.indices(shape))
    u, v = 2.0 * np.pi * a / shape[0], 2.0 * np.pi * b / shape[1]
    reach = major_radius + minor_radius * np.cos(v)
    vertices = np.stack([reach * np.cos(u), reach * np.sin(u), minor_radius * np.sin(v)], axis=-1)

    def index(da: int, db: int) -> np.ndarray:
        return ((a + da) % shape[0]) * shape[1] + (b + db) % shape[1]

    first = np.stack([index(0, 0), index(1, 0), index(1, 1)], axis=-1)
    second = np.stack([index(0, 0), index(1, 1), index(0, 1)], axis=-1)
    return vertices, np.concatenate([first, second])


def merge_meshes(meshes: Sequence[Mesh]) -> Mesh:
    """All meshes as one, vertices renumbered; none are fused."""
    if not meshes:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    offsets = np.cumsum([0, *(len(vertices) for vertices, _ in meshes)])
    faces = [mesh[1] + offset for mesh, offset in zip(meshes, offsets, strict=False)]
    return np.concatenate([vertices for vertices, _ in meshes]), np.concatenate(faces)


def _split_in_four(vertices: Vertices, faces: Faces) -> Mesh:
    """Every triangle cut at the midpoints of its edges; neighbours share the new vertices."""
    sides = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=-1)
    unique, which = np.unique(sides, axis=0, return_inverse=True)
    ab, bc, ca = (len(vertices) + which.reshape(-1, 3)).T
    a, b, c = faces.T
    triangles = [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
    split = np.concatenate([np.stack(corner, axis=-1) for corner in triangles])
    return np.concatenate([vertices, vertices[unique].mean(axis=1)]), split


def _check_positive(**lengths: float) -> None:
    """Refuse lengths that are not positive and finite."""
    for name, value in lengths.items():
        if not (np.isfinite(value) and value > 0.0):
            raise GemelError(f"{name} is {value}; a positive length in metres was expected.", remedy=f"Correct {name}.")


def _check_segments(count: int) -> None:
    """Refuse circles with too few corners to enclose anything."""
    if count < 3:
        raise GemelError(f"{count} segments cannot close a circle; at least 3 are needed.", remedy="Use 3 or more.")
