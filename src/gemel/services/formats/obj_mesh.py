"""Wavefront .obj: vertices with optional colours and faces of any number of corners in; triangles with texture out."""

import numpy as np
from jaxtyping import Float, Int

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


def write_obj(
    vertices: Float[np.ndarray, "v 3"],
    faces: Int[np.ndarray, "f 3"],
    *,
    uv: Float[np.ndarray, "f 3 2"] | None = None,
    material_file: str = "",
    comment: str = "",
) -> bytes:
    """Triangles as text with nine digits, enough to name every float32; `uv` is per corner, (0, 0) at the bottom left.

    `material_file` is an .mtl beside the file whose only material is called `looks`.
    """
    lines = [f"# {comment}"] if comment else []
    lines += [f"mtllib {material_file}", "usemtl looks"] if material_file else []
    lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices.tolist()]
    corners = (faces + 1).tolist()
    if uv is None:
        lines += [f"f {a} {b} {c}" for a, b, c in corners]
    else:
        lines += [f"vt {u:.9g} {v:.9g}" for u, v in uv.reshape(-1, 2).tolist()]
        lines += [f"f {a}/{3 * i + 1} {b}/{3 * i + 2} {c}/{3 * i + 3}" for i, (a, b, c) in enumerate(corners)]
    return ("\n".join(lines) + "\n").encode("ascii")


def write_mtl(texture_file: str) -> bytes:
    """A material `looks` that shows a texture and nothing else."""
    return f"newmtl looks\nKa 0 0 0\nKd 1 1 1\nKs 0 0 0\nillum 1\nmap_Kd {texture_file}\n".encode("ascii")
