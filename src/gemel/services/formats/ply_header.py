"""The header of a .ply file: which properties the `vertex` element has and where its data starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gemel.errors import SourceError

TYPES = {
    "char": "i1", "uchar": "u1", "short": "<i2", "ushort": "<u2", "int": "<i4", "uint": "<u4", "float": "<f4",
    "double": "<f8", "int8": "i1", "uint8": "u1", "int16": "<i2", "uint16": "<u2", "int32": "<i4", "uint32": "<u4",
    "float32": "<f4", "float64": "<f8",
}  # fmt: skip
LONGEST_HEADER = 1 << 20
"""Bytes within which a header has to end."""


@dataclass(frozen=True)
class PlyHeader:
    """What is needed to read the vertices of a binary little-endian .ply."""

    count: int
    """Number of vertices."""
    dtype: np.dtype[np.void]
    """One vertex."""
    data_start: int
    """Byte at which the vertices start."""
    comments: Mapping[str, str]
    """`comment gemel key value` lines."""


def read_header(path: Path) -> PlyHeader:
    """Parse and check the header; SourceError if the file is not a binary .ply whose first element is `vertex`."""
    try:
        with path.open("rb") as file:
            head = file.read(LONGEST_HEADER)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}.", remedy="check path and permissions") from error
    end = head.find(b"end_header\n")
    if not head.startswith((b"ply\n", b"ply\r\n")) or end < 0:
        raise SourceError(f"{path} is not a .ply file, or its header is cut off.", remedy="give a 3DGS .ply file")
    lines = head[:end].decode("ascii", errors="replace").splitlines()[1:]
    _check_format(path, lines)
    count, properties = _vertex_element(path, lines)
    comments = {parts[2]: parts[3] for parts in (line.split() for line in lines) if parts[:2] == ["comment", "gemel"]}
    return PlyHeader(count, np.dtype(properties), end + len(b"end_header\n"), comments)


def _check_format(path: Path, lines: list[str]) -> None:
    formats = [line.split()[1] for line in lines if line.startswith("format ") and len(line.split()) > 1]
    if formats != ["binary_little_endian"]:
        raise SourceError(
            f"{path} is a .ply of format {formats or ['unknown']}: expected binary_little_endian.",
            remedy="export it as binary little-endian .ply (every splat tool can)",
        )


def _vertex_element(path: Path, lines: list[str]) -> tuple[int, list[tuple[str, str]]]:
    """Count and properties of the first element, which has to be `vertex`."""
    words = [line.split() for line in lines]
    elements = [i for i, parts in enumerate(words) if parts[:1] == ["element"]]
    if not elements or words[elements[0]][1:2] != ["vertex"] or not words[elements[0]][2:3][0].isdigit():
        raise SourceError(
            f"{path} has no element `vertex` at its start: {[' '.join(words[i]) for i in elements]}.",
            remedy="give an uncompressed 3DGS .ply; a compressed one (element chunk) has to be unpacked first",
        )
    last = elements[1] if len(elements) > 1 else len(words)
    properties = []
    for parts in words[elements[0] + 1 : last]:
        if parts[:1] == ["property"]:
            if len(parts) != 3 or parts[1] not in TYPES:
                raise SourceError(f"{path}: property `{' '.join(parts)}` is not a number.", remedy="give a 3DGS .ply")
            properties.append((parts[2], TYPES[parts[1]]))
    return int(words[elements[0]][2]), properties
