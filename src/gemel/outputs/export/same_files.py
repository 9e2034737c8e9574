"""Files of a folder against the bytes that were meant, each decoded by its kind: what is written differently and means
the same is the same, and what no check of meaning thinks of (a material, a statistic, a remark) is compared too."""

import io
import json
import math
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gemel.outputs.export.report import STAMP_FILE, Check, largest
from gemel.services.formats.glb import glb_chunks
from gemel.services.formats.image_file import decode_image


def file_checks(meant: Mapping[str, bytes], folder: Path) -> tuple[Check, ...]:
    """One row for files that are missing or too many, and one for each kind of file with its largest difference."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {STAMP_FILE}
    alone = sorted(there ^ {*meant})
    rows = [Check("files on one side only", float(len(alone)), 0.0, where=alone[0] if alone else "")]
    by_kind: dict[str, dict[str, float]] = {}
    for name in sorted(there & {*meant}):
        what, difference = _KINDS.get(Path(name).suffix, ("other files", _bytes_apart))
        found = difference(meant[name], (folder / name).read_bytes())
        by_kind.setdefault(what, {})[name] = found
    for what, apart in by_kind.items():
        first = next((name for name, value in apart.items() if not value <= 0.0), "")
        rows.append(Check(what, largest(apart.values()), 0.0, where=first))
    return tuple(rows)


def _bytes_apart(ours: bytes, theirs: bytes) -> float:
    return 0.0 if ours == theirs else math.inf


def _picture_apart(ours: bytes, theirs: bytes) -> float:
    """Largest difference of a pixel, of 255."""
    first, second = (decode_image(data).astype(np.float64) for data in (ours, theirs))
    return largest(first - second) if first.shape == second.shape else math.inf


def _leaves(tree: Any, start: str = "") -> dict[str, Any]:
    """All values of nested tables and lists by their path; empty ones count as values."""
    if isinstance(tree, dict | list) and tree:
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return {path: leaf for key, value in items for path, leaf in _leaves(value, f"{start}/{key}").items()}
    return {start: tree}


def _trees_apart(ours: Any, theirs: Any) -> float:
    """Number of values that differ or that one side lacks."""
    first, second = _leaves(ours), _leaves(theirs)
    both = first.keys() & second.keys()
    return float(len(first.keys() ^ second.keys()) + sum(first[key] != second[key] for key in both))


def _json_apart(ours: bytes, theirs: bytes) -> float:
    return _trees_apart(json.loads(ours), json.loads(theirs))


def _toml_apart(ours: bytes, theirs: bytes) -> float:
    return _trees_apart(tomllib.loads(ours.decode()), tomllib.loads(theirs.decode()))


def _xml_apart(ours: bytes, theirs: bytes) -> float:
    """Number of elements that differ; how they are indented does not count."""
    first, second = (
        ElementTree.canonicalize(data.decode(), strip_text=True).replace("><", ">\n<").split("\n")
        for data in (ours, theirs)
    )
    return float(abs(len(first) - len(second)) + sum(a != b for a, b in zip(first, second, strict=False)))


def _obj_apart(ours: bytes, theirs: bytes) -> float:
    """Largest difference of a vertex [m] or texture coordinate; infinite for other faces or materials."""
    parts = []
    for data in (ours, theirs):
        lines = [line.split() for line in data.decode().splitlines() if line and not line.startswith("#")]
        numbers = [np.array([line[1:] for line in lines if line[0] == kind], dtype=np.float64) for kind in ("v", "vt")]
        parts.append((numbers, [line for line in lines if line[0] not in ("v", "vt")]))
    (first, rest), (second, other_rest) = parts
    if rest != other_rest or any(a.shape != b.shape for a, b in zip(first, second, strict=True)):
        return math.inf
    return largest(*(a - b for a, b in zip(first, second, strict=True)))


def _glb_apart(ours: bytes, theirs: bytes) -> float:
    """Number of values of the description that differ; infinite for other triangles or colours."""
    (first, first_binary), (second, second_binary) = (glb_chunks(data) for data in (ours, theirs))
    return _trees_apart(first, second) if first_binary == second_binary else math.inf


def _parquet_apart(ours: bytes, theirs: bytes) -> float:
    """Number of columns that differ."""
    import pyarrow.parquet as parquet

    first, second = (parquet.read_table(io.BytesIO(data)) for data in (ours, theirs))
    alone = {*first.column_names} ^ {*second.column_names}
    both = {*first.column_names} & {*second.column_names}
    return float(len(alone) + sum(not first[name].equals(second[name]) for name in both))


_KINDS: dict[str, tuple[str, Callable[[bytes, bytes], float]]] = {
    ".png": ("pictures (of 255)", _picture_apart),
    ".json": ("JSON values that differ", _json_apart),
    ".toml": ("TOML values that differ", _toml_apart),
    ".urdf": ("XML elements that differ", _xml_apart),
    ".obj": ("meshes and texture coordinates", _obj_apart),
    ".glb": ("GLB values that differ", _glb_apart),
    ".parquet": ("table columns that differ", _parquet_apart),
    ".mtl": ("materials that differ", _bytes_apart),
}
