"""Meshes of robot links at the fineness of their Gaussians: long edges cut, dense meshes thinned."""

import numpy as np
from jaxtyping import Bool, Float, Int

_COARSER = 1.25

Surface = tuple[Float[np.ndarray, "_ 3"], Int[np.ndarray, "_ 3"], Float[np.ndarray, "_ 3"]]
"""Vertices [m], faces and a colour for each face."""


def even_surface(surface: Surface, longest_edge_m: float, most_faces: int) -> Surface:
    """The surface with edges of at most `longest_edge_m`, longer ones if that needs more than `most_faces` faces."""
    edge_m = longest_edge_m
    while True:
        start = surface if len(surface[1]) <= most_faces else clustered(surface, 0.7 * edge_m)
        cut = cut_long_edges(start, edge_m, most_faces)
        if len(cut[1]) <= most_faces:
            return cut
        edge_m *= _COARSER


def cut_long_edges(surface: Surface, longest_edge_m: float, most_faces: int) -> Surface:
    """Edges halved until none is longer; stops early once there are more than `most_faces` faces."""
    vertices, faces, colours = surface
    while len(faces) <= most_faces:
        sides = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=-1)
        unique, which = np.unique(sides, axis=0, return_inverse=True)
        is_long = np.linalg.norm(vertices[unique[:, 0]] - vertices[unique[:, 1]], axis=1) > longest_edge_m
        if not is_long.any():
            break
        number = np.where(is_long, len(vertices) + np.cumsum(is_long) - 1, -1)
        middles = vertices[unique[is_long]].mean(axis=1)
        faces, source = _split(faces, number[which.reshape(-1, 3)], np.concatenate([vertices, middles]))
        vertices, colours = np.concatenate([vertices, middles]), colours[source]
    return vertices, faces, colours


def _split(
    faces: Int[np.ndarray, "f 3"], middle: Int[np.ndarray, "f 3"], vertices: Float[np.ndarray, "v 3"]
) -> tuple[Int[np.ndarray, "g 3"], Int[np.ndarray, " g"]]:
    """Faces cut at the middles of edges ab, bc, ca (-1: not cut), and the face that each comes from."""
    cuts = (middle >= 0).sum(axis=1)
    index = np.arange(len(faces))
    parts, sources = [faces[cuts == 0]], [index[cuts == 0]]
    for count in (1, 2, 3):
        chosen = np.flatnonzero(cuts == count)
        # Turn each face so that its only cut edge, or else its only whole one, is ab or ca.
        is_odd = (middle[chosen] >= 0) if count == 1 else (middle[chosen] < 0)
        turn = np.argmax(is_odd, axis=1) if count < 3 else np.zeros(len(chosen), dtype=np.int64)
        order = (turn[:, None] + np.arange(3)) % 3
        a, b, c = np.take_along_axis(faces[chosen], order, axis=1).T
        ab, bc, ca = np.take_along_axis(middle[chosen], order, axis=1).T
        if count == 1:
            pieces = [(a, ab, c), (ab, b, c)]
        elif count == 2:  # ab is whole; cut the quadrilateral a b bc ca along its shorter diagonal
            is_first = _length(vertices, a, bc) <= _length(vertices, b, ca)
            pieces = [
                (ca, bc, c),
                (a, b, np.where(is_first, bc, ca)),
                (np.where(is_first, a, b), bc, ca),
            ]
        else:
            pieces = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        parts += [np.stack(piece, axis=-1) for piece in pieces]
        sources += [chosen] * len(pieces)
    return np.concatenate(parts).astype(np.int64), np.concatenate(sources)


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


def _length(vertices: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(vertices[first] - vertices[second], axis=1))
