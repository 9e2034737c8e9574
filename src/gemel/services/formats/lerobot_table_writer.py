"""The parquet tables of a LeRobot v3.0 dataset, written: data in files of bounded size, episode list, tasks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gemel.services.formats.lerobot_info import DATA_PATH

_MB = 1 << 20


@dataclass
class FilePlace:
    """The file of a kind that is being filled."""

    chunk_index: int = 0
    file_index: int = 0

    def roll(self, chunks_size: int) -> None:
        """Go on with the next file; chunks hold `chunks_size` of them."""
        self.file_index += 1
        if self.file_index == chunks_size:
            self.chunk_index, self.file_index = self.chunk_index + 1, 0


class DataWriter:
    """Episodes into `data/`: one row group each, a new file when one is full."""

    def __init__(self, root: Path, *, file_size_mb: float, chunks_size: int) -> None:
        self._root, self._limit_bytes, self._chunks_size = root, file_size_mb * _MB, chunks_size
        self.place = FilePlace()
        self._file: Any = None
        self._size_bytes = 0

    def add(self, columns: Mapping[str, np.ndarray]) -> None:
        """Append one episode: (t,) columns become scalars, (t, width) columns fixed-length lists."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table({name: _column(values) for name, values in columns.items()})
        if self._file is None:
            path = self._root / DATA_PATH.format(**vars(self.place))
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = pq.ParquetWriter(path, table.schema)
        self._file.write_table(table, row_group_size=table.num_rows)
        self._size_bytes += table.nbytes
        if self._size_bytes >= self._limit_bytes:
            self.close()
            self.place.roll(self._chunks_size)

    def close(self) -> None:
        """Finish the file that is being filled: without its footer it would be lost."""
        if self._file is not None:
            self._file.close()
        self._file, self._size_bytes = None, 0


def write_episode_rows(rows: list[dict[str, Any]], path: Path) -> None:
    """The episode list. `object` is a column of ours: it is there only when some episode has one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not any(row["object"] for row in rows):
        rows = [{name: value for name, value in row.items() if name != "object"} for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def write_tasks(index_from_task: Mapping[str, int], path: Path) -> None:
    """A pandas frame with the task text as its index, written without pandas."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    indices = pa.array(list(index_from_task.values()), pa.int64())
    table = pa.table({"task_index": indices, "task": pa.array(list(index_from_task), pa.string())})
    columns = [
        {"name": n, "field_name": n, "pandas_type": p, "numpy_type": d, "metadata": None}
        for n, p, d in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    pandas = {"index_columns": ["task"], "column_indexes": [], "columns": columns, "pandas_version": "2.2.0"}
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(pandas)}), path)


def _column(values: np.ndarray) -> Any:
    import pyarrow as pa

    if values.ndim == 1:
        return pa.array(values)
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
