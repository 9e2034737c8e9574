"""Meshes of robot links at the fineness of their Gaussians: long edges cut, dense meshes thinned."""

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.geometry import face_areas
from gemel.stages.reconstruct.scene.lattice import lattice

_COARSER = 1.2
_LEAST_AREA_M2 = 1e-10
_BULGE = 1e-3

Surface = tuple[Float[np.ndarray, "_ 3"], Int[np.ndarray, "_ 3"], Float[np.ndarray, "_ 3"]]
"""Vertices [m], faces and a colour for each face."""


def even_surface(surface: Surface, longest_edge_m: float, most_faces: int) -> Surface:
    """The surface with edges of at most `longest_edge_m`, longer ones if that needs more than `most_faces` faces."""
    is_dense = len(surface[1]) > most_faces
    edge_m = longest_edge_m
    while True:
        # A thinned mesh has edges of up to two cells; only what was coarse before is longer.
        if is_dense:
            cut = cut_long_edges(clustered(surface, 0.7 * edge_m), 2.0 * edge_m)
        else:
            cut = cut_long_edges(surface, edge_m)
        if len(cut[1]) <= most_faces:
            return cut
        edge_m *= _COARSER


def cut_long_edges(surface: Surface, longest_edge_m: float) -> Surface:
    """Faces with a longer edge cut into even triangles; neighbours share the new vertices on their edge."""
    vertices, faces, colours = surface
    sides = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=-1)
    unique, which = np.unique(sides, axis=0, return_inverse=True)
    length_m = np.linalg.norm(vertices[unique[:, 0]] - vertices[unique[:, 1]], axis=1)
    counts = np.maximum(np.ceil(length_m / longest_edge_m - 1e-9).astype(np.int64), 1)
    starts = len(vertices) + np.concatenate([[0], np.cumsum(counts - 1)])
    parts = [
        np.linspace(vertices[unique[e, 0]], vertices[unique[e, 1]], counts[e] + 1)[1:-1]
        for e in np.flatnonzero(counts > 1)
    ]
    points = np.concatenate([vertices, *parts])
    edges_of_face = which.reshape(-1, 3)
    is_cut = (counts[edges_of_face] > 1).any(axis=1) & (face_areas(vertices, faces) > _LEAST_AREA_M2)
    pieces, sources, total = [faces[~is_cut]], [np.flatnonzero(~is_cut)], len(points)
    inner_parts = []
    for face in np.flatnonzero(is_cut):
        ring = [
            _along(int(faces[face, k]), int(faces[face, (k + 1) % 3]), int(starts[edge]), int(counts[edge]))
            for k, edge in enumerate(edges_of_face[face])
        ]
        inner, triangles = _triangulated(points, ring, longest_edge_m)
        rim = np.concatenate(ring)
        numbers = np.concatenate([rim, total + np.arange(len(inner))])
        pieces.append(numbers[triangles])
        sources.append(np.full(len(triangles), face))
        inner_parts.append(inner)
        total += len(inner)
    return np.concatenate([points, *inner_parts]), np.concatenate(pieces), colours[np.concatenate(sources)]


def _along(first: int, second: int, start: int, count: int) -> Int[np.ndarray, " n"]:
    """Vertices of an edge from its first end on, without the second."""
    middle = start + np.arange(count - 1)
    return np.concatenate([[first], middle if first < second else middle[::-1]]).astype(np.int64)


def _triangulated(
    points: Float[np.ndarray, "p 3"], ring: list[np.ndarray], edge_m: float
) -> tuple[Float[np.ndarray, "i 3"], Int[np.ndarray, "t 3"]]:
    """New vertices inside a face with a cut rim, and triangles on (rim, new vertices), wound like the face."""
    from scipy.spatial import Delaunay

    corners = points[[side[0] for side in ring]]
    along = corners[1] - corners[0]
    normal = np.cross(along, corners[2] - corners[0])
    axes = np.stack([along / np.linalg.norm(along), np.cross(normal, along) / np.linalg.norm(np.cross(normal, along))])
    flat = (corners - corners[0]) @ axes.T
    box = np.stack([flat.min(axis=0), flat.max(axis=0)])
    inner = lattice(box, edge_m)[0]
    rim = []
    for k, side in enumerate(ring):
        start, way = flat[k], flat[(k + 1) % 3] - flat[k]
        outward = np.array([way[1], -way[0]])
        inner = inner[(inner - start) @ outward < -0.5 * edge_m * np.linalg.norm(way)]
        # Bent outwards a little, the rim is strictly convex, and no rounding can leave a point of it out.
        t = np.linspace(0.0, 1.0, len(side) + 1)[:-1, None]
        rim.append(start + t * way + _BULGE * t * (1.0 - t) * outward)
    triangles = Delaunay(np.concatenate([*rim, inner])).simplices.astype(np.int64)
    a, b, c = np.moveaxis(np.concatenate([*rim, inner])[triangles], 1, 0)
    is_turned = (b - a)[:, 0] * (c - a)[:, 1] < (b - a)[:, 1] * (c - a)[:, 0]
    triangles[is_turned] = triangles[is_turned][:, ::-1]
    return corners[0] + inner @ axes, triangles


def clustered(surface: Surface, cell_m: float) -> Surface:
    """Vertices of one cell of a grid made one, the nearest to their middle; faces that collapse are dropped."""
    vertices, faces, colours = surface
    cells = np.floor(vertices / cell_m).astype(np.int64)
    _, group = np.unique(cells, axis=0, return_inverse=True)
    group = group.ravel()
    count = np.bincount(group)
    middle = np.stack([np.bincount(group, weights=column) for column in vertices.T], axis=-1) / count[:, None]
    distance = np.linalg.norm(vertices - middle[group], axis=1)
    order = np.lexsort((distance, group))
    nearest = order[np.searchsorted(group[order], np.arange(len(count)))]
    merged = group[faces]
    is_kept = _has_three_corners(merged)
    first = np.unique(np.sort(merged[is_kept], axis=1), axis=0, return_index=True)[1]
    kept = np.flatnonzero(is_kept)[np.sort(first)]
    return vertices[nearest], merged[kept], colours[kept]


def _has_three_corners(faces: Int[np.ndarray, "f 3"]) -> Bool[np.ndarray, " f"]:
    return (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
