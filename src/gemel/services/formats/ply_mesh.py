"""Triangle meshes in .ply, text or binary little-endian; splat files are read by ply_splat.py."""

from dataclasses import dataclass, field

import numpy as np

from gemel.errors import SourceError
from gemel.services.formats.mesh_file import MeshFile
from gemel.services.formats.ply_header import TYPES


@dataclass
class _Element:
    name: str
    count: int
    properties: list[tuple[str, str, str]] = field(default_factory=list)
    """Name, type, and type of the length for lists (else empty)."""


def parse_ply(data: bytes) -> MeshFile:
    """Vertices, their colours if they have any, and faces, polygons cut into fans."""
    end = data.find(b"end_header")
    if not data.startswith(b"ply") or end < 0:
        raise SourceError("It is not a .ply file, or its header is cut off.", remedy="export it again")
    lines = data[:end].decode("ascii", errors="replace").splitlines()
    body = data[data.index(b"\n", end) + 1 :]
    style = next(line.split()[1] for line in lines if line.startswith("format "))
    if style not in ("ascii", "binary_little_endian"):
        raise SourceError(f"It is of format {style}.", remedy="export it as ascii or binary little-endian .ply")
    read = _Text(body) if style == "ascii" else _Binary(body)
    tables = {element.name: read.element(element) for element in _elements(lines)}
    if "vertex" not in tables or "face" not in tables:
        raise SourceError("It has no vertices and faces: a cloud or a splat file?", remedy="export a triangle mesh")
    vertex, face = tables["vertex"], tables["face"]
    polygons = next(value for value in face.values() if isinstance(value, list))
    faces = [(p[0], p[k], p[k + 1]) for p in polygons for k in range(1, len(p) - 1)]
    positions = np.stack([np.asarray(vertex[axis], dtype=np.float64) for axis in "xyz"], axis=-1)
    return MeshFile(positions, np.array(faces, dtype=np.int64).reshape(-1, 3), _colours(vertex))


def _colours(vertex: "dict[str, np.ndarray | list[np.ndarray]]") -> np.ndarray | None:
    if not all(name in vertex for name in ("red", "green", "blue")):
        return None
    columns = np.stack([np.asarray(vertex[name]) for name in ("red", "green", "blue")], axis=-1)
    largest = 255.0 if columns.dtype.kind in "iu" or columns.max() > 1.0 else 1.0
    return np.clip(columns.astype(np.float64) / largest, 0.0, 1.0)


def _elements(lines: list[str]) -> list[_Element]:
    found: list[_Element] = []
    for words in (line.split() for line in lines):
        if words[:1] == ["element"]:
            found.append(_Element(words[1], int(words[2])))
        elif words[:2] == ["property", "list"]:
            found[-1].properties.append((words[4], TYPES[words[3]], TYPES[words[2]]))
        elif words[:1] == ["property"]:
            found[-1].properties.append((words[2], TYPES[words[1]], ""))
    return found


class _Text:
    def __init__(self, body: bytes) -> None:
        self._words = body.split()
        self._at = 0

    def _take(self, count: int) -> list[bytes]:
        words = self._words[self._at : self._at + count]
        if len(words) < count:
            raise SourceError("It is cut off.", remedy="copy or download it again")
        self._at += count
        return words

    def element(self, element: _Element) -> "dict[str, np.ndarray | list[np.ndarray]]":
        rows: dict[str, list[np.ndarray]] = {name: [] for name, _, _ in element.properties}
        for _ in range(element.count):
            for name, kind, length in element.properties:
                count = int(self._take(1)[0]) if length else 1
                rows[name].append(np.array(self._take(count), dtype=np.float64).astype(kind))
        return {n: rows[n] if length else np.array([r[0] for r in rows[n]], dtype=kind)
                for n, kind, length in element.properties}  # fmt: skip


class _Binary:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def _take(self, dtype: "np.dtype[np.void] | np.dtype[np.generic]", count: int) -> np.ndarray:
        if count < 0 or self._at + count * dtype.itemsize > len(self._body):
            raise SourceError("It is cut off.", remedy="copy or download it again")
        values = np.frombuffer(self._body, dtype, count, self._at)
        self._at += count * dtype.itemsize
        return values

    def element(self, element: _Element) -> "dict[str, np.ndarray | list[np.ndarray]]":
        if not any(length for _, _, length in element.properties):
            table = self._take(np.dtype([(name, kind) for name, kind, _ in element.properties]), element.count)
            return {name: table[name] for name, _, _ in element.properties}
        rows: dict[str, list[np.ndarray]] = {name: [] for name, _, _ in element.properties}
        for _ in range(element.count):
            for name, kind, length in element.properties:
                count = int(self._take(np.dtype(length), 1)[0]) if length else 1
                rows[name].append(self._take(np.dtype(kind), count))
        return {n: rows[n] if length else np.concatenate(rows[n]) for n, _, length in element.properties}
