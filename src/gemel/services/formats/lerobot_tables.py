"""The parquet tables of a LeRobot v3.0 dataset: episode list, tasks, and data in bounded batches."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import SourceError

_BATCH_ROWS = 2048


@dataclass(frozen=True)
class VideoPlace:
    """Which file an episode's video is in, and from when."""

    chunk_index: int
    file_index: int
    from_s: float


@dataclass(frozen=True)
class EpisodeRow:
    """One row of `meta/episodes`, as far as it is needed."""

    index: int
    length: int
    tasks: tuple[str, ...]
    data_file: tuple[int, int]
    """Chunk and file index of its data table."""
    video_from_key: Mapping[str, VideoPlace]
    object: str


def read_episode_rows(root: Path, video_keys: tuple[str, ...]) -> list[EpisodeRow]:
    """All rows of `meta/episodes/*/*.parquet`, in order of episode."""
    files = sorted((root / "meta" / "episodes").rglob("*.parquet"))
    if not files:
        raise SourceError(
            f"{root / 'meta' / 'episodes'} holds no table: the list of episodes is missing.",
            remedy="restore meta/episodes from the recording",
        )
    rows = [row for file in files for row in _rows_of(file, video_keys)]
    indices = [row.index for row in rows]
    if len(set(indices)) != len(indices):
        twice = next(index for index in indices if indices.count(index) > 1)
        raise SourceError(
            f"meta/episodes lists episode {twice} twice.", remedy="restore meta/episodes from the recording"
        )
    return sorted(rows, key=lambda row: row.index)


def read_tasks(root: Path) -> dict[int, str]:
    """Task texts by index; the text is the frame's index, under any name."""
    path = root / "meta" / "tasks.parquet"
    if not path.exists():
        return {}
    with _table_errors(path):
        import pyarrow.parquet as pq

        table = pq.read_table(path, use_threads=False)
        text = next((c for c in table.column_names if c != "task_index"), None)
        if text is None or "task_index" not in table.column_names:
            return {}
        return dict(zip(table["task_index"].to_pylist(), map(str, table[text].to_pylist()), strict=True))


def data_batches(path: Path, columns: list[str]) -> Iterator[tuple[int, Any]]:
    """(episode index, its rows) in file order; memory is one episode plus one batch, whatever the file's size."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with _table_errors(path), pq.ParquetFile(path, pre_buffer=False) as file:
        present = [c for c in columns if c in file.schema_arrow.names]
        missing = [c for c in ("timestamp", "episode_index") if c not in present]
        if missing:
            raise SourceError(f"{path} lacks the columns {missing}.", remedy="restore the file")
        pending: list[Any] = []
        current: int | None = None
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=present, use_threads=False):
            for index, part in _runs(batch, pc):
                if current is not None and index != current:
                    yield current, pa.Table.from_batches(pending)
                    pending = []
                current = index
                pending.append(part)
        if current is not None:
            yield current, pa.Table.from_batches(pending)


def column_matrix(table: Any, name: str, width: int) -> Float[np.ndarray, "t width"]:
    """A column of scalars or lists as float64 (t, width); nulls become NaN."""
    import pyarrow as pa

    if name not in table.column_names:
        raise SourceError(f"The data table lacks the column {name!r}.", remedy="restore the data file")
    column = table[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        widths = set(column.value_lengths().to_pylist())
        if widths - {width}:
            raise SourceError(
                f"Column {name!r} has rows of width {sorted(map(str, widths))}; {width} was expected.",
                remedy="restore the data file, or correct the feature's shape in meta/info.json",
            )
    if hasattr(column, "flatten"):
        column = column.flatten()
    if column.type == pa.bool_():
        column = column.cast(pa.int8())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise SourceError(f"Column {name!r} holds {column.type}, not numbers.", remedy="restore the data file")
    values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    if values.size != table.num_rows * width:
        raise SourceError(
            f"Column {name!r} has {values.size} numbers for {table.num_rows} rows of width {width}.",
            remedy="restore the data file, or correct the feature's shape in meta/info.json",
        )
    return values.reshape(-1, width)


def _runs(batch: Any, pc: Any) -> Iterator[tuple[int, Any]]:
    """Slices of a batch in which the episode stays the same."""
    episodes = batch.column("episode_index").to_numpy(zero_copy_only=False)
    edges = [0, *(np.flatnonzero(np.diff(episodes)) + 1).tolist(), len(episodes)]
    for start, stop in itertools.pairwise(edges):
        if stop > start:
            yield int(episodes[start]), batch.slice(start, stop - start)


def _rows_of(path: Path, video_keys: tuple[str, ...]) -> Iterator[EpisodeRow]:
    import pyarrow.parquet as pq

    columns = ["episode_index", "length", "tasks", "data/chunk_index", "data/file_index", "object"]
    for key in video_keys:
        columns += [f"videos/{key}/{name}" for name in ("chunk_index", "file_index", "from_timestamp")]
    with _table_errors(path), pq.ParquetFile(path, pre_buffer=False) as file:
        names = file.schema_arrow.names
        missing = [c for c in columns if c not in names and c not in ("object", "tasks")]
        if missing:
            raise SourceError(f"{path} lacks the columns {missing}.", remedy="restore the file")
        for batch in file.iter_batches(columns=[c for c in columns if c in names], use_threads=False):
            for row in batch.to_pylist():
                yield _episode_row(row, video_keys)


def _episode_row(row: Mapping[str, Any], video_keys: tuple[str, ...]) -> EpisodeRow:
    def place(key: str) -> VideoPlace:
        at = f"videos/{key}/"
        return VideoPlace(int(row[at + "chunk_index"]), int(row[at + "file_index"]), float(row[at + "from_timestamp"]))

    return EpisodeRow(
        index=int(row["episode_index"]),
        length=int(row["length"]),
        tasks=tuple(map(str, row.get("tasks") or ())),
        data_file=(int(row["data/chunk_index"]), int(row["data/file_index"])),
        video_from_key={key: place(key) for key in video_keys},
        object=str(row.get("object") or ""),
    )


@contextmanager
def _table_errors(path: Path) -> Iterator[None]:
    """One clear error for whatever is wrong with a parquet file."""
    import pyarrow as pa

    if not path.exists():
        raise SourceError(f"The table {path} is missing.", remedy="copy it back beside the rest of the log")
    if path.stat().st_size == 0:
        raise SourceError(f"The table {path} has 0 bytes.", remedy="copy it again from the recording machine")
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise SourceError(
            f"The table {path} cannot be read: {reason}.",
            remedy="it is damaged or was cut off: copy it again from the recording machine",
        ) from error
