"""Safetensors files, read and written with numpy alone.

The layout is that of https://github.com/huggingface/safetensors: eight bytes with the length of a JSON header, the
header (dtype, shape and place of each array, and free text under `__metadata__`), then the arrays, little-endian and
without gaps. Nothing in it can run code. A file is written beside its place and moved there, so it is never half there.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gemel.errors import SourceError

_KINDS = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U8": "|u1", "BOOL": "|b1"}
_NAMES = {np.dtype(kind): name for name, kind in _KINDS.items()}
_LONGEST_HEADER = 100_000_000


def write_tensors(path: Path, arrays: Mapping[str, np.ndarray], text: Mapping[str, str]) -> None:
    """Write arrays by name, and text by name, all at once."""
    header: dict[str, object] = {"__metadata__": dict(text)}
    parts, at = [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        shape = list(array.shape)
        header[name] = {"dtype": _NAMES[array.dtype], "shape": shape, "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    with beside.open("wb") as file:
        file.write(len(head).to_bytes(8, "little"))
        file.write(head)
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def read_tensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Arrays and text by name."""
    if not path.is_file():
        raise SourceError(f"There is no file {path}.", remedy="give the path of a .safetensors file")
    data = path.read_bytes()
    try:
        length = int.from_bytes(data[:8], "little")
        if len(data) < 8 or length > min(_LONGEST_HEADER, len(data) - 8):
            raise ValueError("it is too short for its header")
        header = json.loads(data[8 : 8 + length])
        text = header.pop("__metadata__", {})
        return {name: _array(entry, data[8 + length :]) for name, entry in header.items()}, dict(text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(
            f"{path} is not a safetensors file: {error}.", remedy="give another file, or copy it again"
        ) from None


def _array(entry: dict[str, object], body: bytes) -> np.ndarray:
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    assert isinstance(shape, list)
    assert isinstance(offsets, list)
    if kind not in _KINDS:
        raise ValueError(f"arrays of kind {kind} are not known")
    start, end = (int(o) for o in offsets)
    if not 0 <= start <= end <= len(body):
        raise ValueError("an array lies outside the file")
    return np.frombuffer(body[start:end], dtype=_KINDS[str(kind)]).reshape([int(n) for n in shape]).copy()
