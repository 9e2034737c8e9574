"""Artifacts to bytes and back: a JSON tree for structure, safetensors for arrays, parquet for tables. No pickle.

Every dataclass is written with its name (`"$type"`) and read back only if the registry knows that name, so a
file can never choose what gets constructed.
"""

import dataclasses
import json
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from gemel.artifacts.blob import Table
from gemel.errors import StoreError

Arrays = dict[str, np.ndarray]

_DTYPE_FROM_TAG = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "U16": "<u2", "I32": "<i4", "U32": "<u4",
    "I64": "<i8", "U64": "<u8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
_TAG_FROM_DTYPE = {np.dtype(code): tag for tag, code in _DTYPE_FROM_TAG.items()}


def encode(value: Any, arrays: Arrays) -> Any:
    """A JSON tree of any artifact; arrays are moved into `arrays`, named by their order of appearance."""
    if isinstance(value, Enum):
        return {"$enum": type(value).__name__, "value": value.value}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else {"$float": repr(number)}
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays):04d}"
        arrays[name] = value
        return {"$array": name}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: encode(getattr(value, f.name), arrays) for f in dataclasses.fields(value)}
        return {"$type": type(value).__name__, **fields}
    if isinstance(value, Mapping):
        return {str(key): encode(item, arrays) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item, arrays) for item in value]
    raise TypeError(f"cannot encode {type(value).__name__}: artifacts hold plain values, arrays and dataclasses")


def decode(tree: Any, arrays: Mapping[str, np.ndarray], types: Mapping[str, type]) -> Any:
    """The inverse of `encode`; `types` lists every class that may be built."""
    if isinstance(tree, list):
        return tuple(decode(item, arrays, types) for item in tree)
    if not isinstance(tree, dict):
        return tree
    if "$float" in tree:
        return float(tree["$float"])
    if "$array" in tree:
        return arrays[tree["$array"]]
    if "$enum" in tree:
        return _known(tree["$enum"], types)(tree["value"])
    content = {k: decode(v, arrays, types) for k, v in tree.items() if k != "$type"}
    return _known(tree["$type"], types)(**content) if "$type" in tree else content


def _known(name: str, types: Mapping[str, type]) -> type:
    if name not in types:
        raise StoreError(
            f"The store holds a {name!r}, which this version of Gemel does not know.",
            remedy="use the version of Gemel that wrote it, or a newer one",
        )
    return types[name]


def pack_arrays(arrays: Arrays) -> bytes:
    """Arrays as one safetensors file: 8 bytes of header length, JSON header, raw little-endian data."""
    header: dict[str, Any] = {}
    chunks: list[bytes] = []
    offset = 0
    for name, array in sorted(arrays.items()):
        dtype = array.dtype.newbyteorder("<") if array.dtype.itemsize > 1 else array.dtype
        chunk = np.ascontiguousarray(array, dtype=dtype).tobytes()
        header[name] = {
            "dtype": _TAG_FROM_DTYPE[dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(chunk)],
        }
        chunks.append(chunk)
        offset += len(chunk)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the format wants the data aligned to eight bytes
    return b"".join([len(text).to_bytes(8, "little"), text, *chunks])


def unpack_arrays(data: bytes) -> Arrays:
    """The inverse of `pack_arrays`; arrays are read-only, and views of `data` where they are aligned in it."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    body = memoryview(data)[8 + size :]
    return {
        name: _aligned(np.frombuffer(body[slice(*entry["data_offsets"])], _DTYPE_FROM_TAG[entry["dtype"]])).reshape(
            entry["shape"]
        )
        for name, entry in header.items()
        if name != "__metadata__"
    }


def _aligned(array: np.ndarray) -> np.ndarray:
    """The same, copied if it begins at an odd address (after bytes of an odd number): C++ libraries refuse those."""
    if array.flags.aligned:
        return array
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def pack_table(table: Table) -> bytes:
    """Columns of equal length as one parquet file; (t, width) columns become fixed-size lists."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: _arrow_column(column) for name, column in table.items()}
    sink = pa.BufferOutputStream()
    # Joint data has no repeats to index and nobody filters by its range: leaving both out halves the time.
    pq.write_table(pa.table(columns), sink, compression="zstd", use_dictionary=False, write_statistics=False)
    return bytes(sink.getvalue().to_pybytes())


def unpack_table(data: bytes) -> Table:
    """The inverse of `pack_table`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(data), use_threads=False)
    return {name: _numpy_column(table.column(name)) for name in table.column_names}


def _arrow_column(column: np.ndarray) -> Any:
    import pyarrow as pa

    if column.ndim == 1:
        return pa.array(column.tolist() if column.dtype.kind in "US" else column)
    values = pa.array(np.ascontiguousarray(column).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(values, column.shape[1])


def _numpy_column(column: Any) -> np.ndarray:
    import pyarrow as pa

    column = column.combine_chunks()
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)
    if pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    return column.to_numpy(zero_copy_only=False)
