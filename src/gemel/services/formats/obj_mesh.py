"""Wavefront .obj: vertices with optional colours, and faces of any number of corners."""

import numpy as np

from gemel.errors import SourceError
from gemel.services.formats.mesh_file import MeshFile


def parse_obj(data: bytes) -> MeshFile:
    """All faces, polygons cut into fans; materials are not read."""
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for line in data.decode("utf-8", errors="replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            vertices.append([float(word) for word in words[1:7]])
        elif words[:1] == ["f"]:
            corners = [_index(word, len(vertices)) for word in words[1:]]
            faces += [(corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)]
    if not faces:
        raise SourceError("It has no faces.", remedy="export the object as a triangle mesh")
    has_colours = all(len(vertex) == 6 for vertex in vertices)
    table = np.array([vertex[: 6 if has_colours else 3] for vertex in vertices], dtype=np.float64)
    colours = np.clip(table[:, 3:], 0.0, 1.0) if has_colours else None
    return MeshFile(np.ascontiguousarray(table[:, :3]), np.array(faces, dtype=np.int64), colours)


def _index(word: str, count: int) -> int:
    """`7/1/2` is vertex 7, counted from one; negative numbers count from the last."""
    number = int(word.split("/")[0])
    return number - 1 if number > 0 else count + number
