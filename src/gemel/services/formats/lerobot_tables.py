"""The parquet tables of a LeRobot v3.0 dataset: episode list, tasks, and data in bounded batches."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import SourceError
from gemel.services.formats.paths import inside, plain_file

_BATCH_ROWS = 2048
_LONGEST_VIDEO_S = 1e9


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
    inner = [inside(root, file.relative_to(root).as_posix()) for file in files]
    rows = [row for file in inner for row in _rows_of(file, video_keys)]
    index, times = Counter(row.index for row in rows).most_common(1)[0] if rows else (0, 0)
    if times > 1:
        raise SourceError(
            f"meta/episodes lists episode {index} {times} times.", remedy="restore meta/episodes from the recording"
        )
    return sorted(rows, key=lambda row: row.index)


def read_tasks(root: Path) -> dict[int, str]:
    """Task texts by index; the text is the frame's index, under any name."""
    path = inside(root, "meta/tasks.parquet")
    if not path.exists():
        return {}
    with _table_errors(path):
        import pyarrow.parquet as pq

        table = pq.read_table(path, use_threads=False)
        text = next((c for c in table.column_names if c != "task_index"), None)
        if text is None or "task_index" not in table.column_names:
            return {}
        pairs = zip(table["task_index"].to_pylist(), table[text].to_pylist(), strict=True)
        return {int(index): str(task) for index, task in pairs if index is not None}


def data_batches(path: Path, columns: list[str]) -> Iterator[tuple[int, Any]]:
    """(episode index, its rows) in file order; memory is one episode plus one batch, whatever the file's size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _table_errors(path), pq.ParquetFile(path, pre_buffer=False) as file:
        present = _present(file, path, columns, required=("timestamp", "episode_index"))
        pending: list[Any] = []
        current: int | None = None
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=present, use_threads=False):
            for index, part in _runs(batch):
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
    column = table[name]
    column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    is_there = np.asarray(column.is_valid())
    numbers = column.flatten() if hasattr(column, "value_lengths") else column.drop_null()
    if pa.types.is_boolean(numbers.type):
        numbers = numbers.cast(pa.int8())
    if not (pa.types.is_integer(numbers.type) or pa.types.is_floating(numbers.type)):
        raise SourceError(f"Column {name!r} holds {column.type}, not numbers.", remedy="restore the data file")
    values = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
    if values.size != is_there.sum() * width or not _has_width(column, width):
        raise SourceError(
            f"Column {name!r} ({column.type}) has {values.size} numbers for {is_there.sum()} rows of width {width}.",
            remedy="restore the data file, or correct the feature's shape in meta/info.json",
        )
    matrix = np.full((len(is_there), width), np.nan)
    matrix[is_there] = values.reshape(-1, width) if width else 0.0
    return matrix


def _has_width(column: Any, width: int) -> bool:
    """Whether each row holds `width` numbers; a sum alone could hide a long row beside a short one."""
    if not hasattr(column, "value_lengths"):
        return width == 1
    return set(column.value_lengths().drop_null().to_pylist()) <= {width}


def _runs(batch: Any) -> Iterator[tuple[int, Any]]:
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
        present = _present(file, path, columns, required=[c for c in columns if c not in ("object", "tasks")])
        for batch in file.iter_batches(columns=present, use_threads=False):
            for row in batch.to_pylist():
                yield _episode_row(row, video_keys)


def _present(file: Any, path: Path, columns: Sequence[str], *, required: Sequence[str]) -> list[str]:
    """Those of the columns that the file has, each once; the required ones are among them."""
    names = file.schema_arrow.names
    missing = [c for c in required if c not in names]
    if missing:
        raise SourceError(f"{path} lacks the columns {missing}.", remedy="restore the file")
    twice = [c for c in columns if names.count(c) > 1]
    if twice:
        raise SourceError(f"{path} has the columns {twice} more than once.", remedy="restore the file")
    return [c for c in columns if c in names]


def _episode_row(row: Mapping[str, Any], video_keys: tuple[str, ...]) -> EpisodeRow:
    def place(key: str) -> VideoPlace:
        at = f"videos/{key}/"
        return VideoPlace(count(at + "chunk_index"), count(at + "file_index"), _start(row[at + "from_timestamp"], key))

    def count(name: str) -> int:
        value = row[name]
        if value is None or int(value) != value or value < 0:
            raise ValueError(f"column {name!r} holds {value!r}, not a count")
        return int(value)

    return EpisodeRow(
        index=count("episode_index"),
        length=count("length"),
        tasks=tuple(map(str, row.get("tasks") or ())),
        data_file=(count("data/chunk_index"), count("data/file_index")),
        video_from_key={key: place(key) for key in video_keys},
        object=str(row.get("object") or ""),
    )


def _start(value: Any, key: str) -> float:
    start_s = float(value)
    if not 0.0 <= start_s < _LONGEST_VIDEO_S:
        raise ValueError(f"the video of {key!r} starts at {start_s} s")
    return start_s


@contextmanager
def _table_errors(path: Path) -> Iterator[None]:
    """One clear error for whatever is wrong with a parquet file."""
    import pyarrow as pa

    plain_file(path, "table")
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise SourceError(
            f"The table {path} cannot be read: {reason}.",
            remedy="it is damaged or was cut off: copy it again from the recording machine",
        ) from error
