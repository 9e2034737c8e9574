"""Writing LeRobot v3.0: H.264 or AV1 video, one row group per episode, finished files or none.

Everything is written to a temporary folder beside the target, which becomes the target only when complete.
Memory is one batch of numbers per episode; frames go to the encoder one by one.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from gemel.errors import SourceError
from gemel.services.formats.lerobot_info import ACTION, DATA_PATH, IMAGE_PREFIX, STATE, VERSION, VIDEO_PATH
from gemel.services.formats.lerobot_stats import Stats, combine_stats, image_stats, number_stats
from gemel.services.formats.video import VideoWriter

_MB = 1 << 20


@dataclass(frozen=True)
class LerobotSpec:
    """What every episode of a dataset to be written has in common."""

    fps: float
    joint_names: tuple[str, ...]
    action_names: tuple[str, ...]
    camera_sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Width and height [px] by camera."""
    extras: Mapping[str, int] = field(default_factory=dict)
    """Further number features and their widths."""
    robot_type: str = "unknown"
    codec: str = "h264"
    """`h264` or `av1`."""
    data_files_size_in_mb: int = 100
    video_files_size_in_mb: int = 200
    chunks_size: int = 1000


@dataclass
class _Place:
    """The file of a kind that is being filled."""

    chunk_index: int = 0
    file_index: int = 0

    def roll(self, chunks_size: int) -> None:
        self.file_index += 1
        if self.file_index == chunks_size:
            self.chunk_index, self.file_index = self.chunk_index + 1, 0


class LerobotWriter:
    """Writes one dataset; use it as a context. An exception inside leaves nothing behind."""

    def __init__(self, root: Path, spec: LerobotSpec) -> None:
        if root.exists() and any(root.iterdir()):
            raise SourceError(
                f"{root} exists and is not empty; a dataset is never written over another.",
                remedy="give a new folder, or remove that one",
            )
        self._target, self._spec = root, spec
        self._root = root.with_name(f".{root.name}.{os.getpid()}.partial")
        self._root.mkdir(parents=True)
        self._data: Any = None
        self._data_place, self._data_bytes = _Place(), 0
        self._videos: dict[str, VideoWriter] = {}
        self._video_places = {name: _Place() for name in spec.camera_sizes}
        self._video_end_s = dict.fromkeys(spec.camera_sizes, 0.0)
        self._tasks: dict[str, int] = {}
        self._rows: list[dict[str, Any]] = []
        self._stats: list[dict[str, Stats]] = []
        self._frame_count = 0

    def add_episode(
        self,
        *,
        task: str,
        state: Float[np.ndarray, "t joint"],
        action: Float[np.ndarray, "t action"],
        images: Mapping[str, Iterable[UInt8[np.ndarray, "h w 3"]]] | None = None,
        extras: Mapping[str, Float[np.ndarray, "t _"]] | None = None,
        times_s: Float[np.ndarray, " t"] | None = None,
        object_name: str = "",
    ) -> int:
        """Append one episode and return its index. `times_s` defaults to step / fps."""
        index, count = len(self._rows), len(state)
        times = np.arange(count) / self._spec.fps if times_s is None else times_s
        times = times.astype(np.float32)
        numbers = {STATE: state, ACTION: action, **(extras or {})}
        row: dict[str, Any] = {
            "episode_index": index, "tasks": [task], "length": count, "object": object_name,
            "data/chunk_index": self._data_place.chunk_index, "data/file_index": self._data_place.file_index,
            "dataset_from_index": self._frame_count, "dataset_to_index": self._frame_count + count,
            "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0,
        }  # fmt: skip
        stats = {key: number_stats(values) for key, values in numbers.items()}
        for camera in self._spec.camera_sizes:
            key = IMAGE_PREFIX + camera
            row |= {f"videos/{key}/{k}": v for k, v in self._video_columns(camera, times).items()}
            stats[key] = self._write_video(camera, (images or {})[camera], times)
        task_index = self._tasks.setdefault(task, len(self._tasks))
        self._write_data(index, task_index, times, numbers)
        row |= {f"stats/{key}/{name}": v for key, s in stats.items() for name, v in s.as_lists().items()}
        self._rows.append(row)
        self._stats.append(stats)
        self._frame_count += count
        return index

    def write_sidecar(self, text: str) -> None:
        """Add `meta/gemel.toml`: units, cameras and whatever else the format cannot say."""
        (self._root / "meta").mkdir(exist_ok=True)
        (self._root / "meta" / "gemel.toml").write_text(text, encoding="utf-8")

    def add_file(self, relative: str, data: bytes) -> None:
        """Add a further file, such as the robot's description."""
        path = self._root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def finish(self) -> None:
        """Close all files, write `meta/` and put the dataset in its place."""
        self._close_files()
        meta = self._root / "meta"
        (meta / "episodes" / "chunk-000").mkdir(parents=True, exist_ok=True)
        _write_rows(self._rows, meta / "episodes" / "chunk-000" / "file-000.parquet")
        _write_tasks(self._tasks, meta / "tasks.parquet")
        totals = {key: combine_stats([s[key] for s in self._stats]) for key in self._stats[0]} if self._stats else {}
        (meta / "stats.json").write_text(json.dumps({key: stats.as_lists() for key, stats in totals.items()}, indent=4))
        (meta / "info.json").write_text(json.dumps(self._info(), indent=4))
        if self._target.exists():
            self._target.rmdir()
        self._root.rename(self._target)

    def __enter__(self) -> "LerobotWriter":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.finish()
        else:
            self._close_files()
            shutil.rmtree(self._root, ignore_errors=True)

    def _video_columns(self, camera: str, times: np.ndarray) -> dict[str, float]:
        start = self._video_end_s[camera]
        place = self._video_places[camera]
        return {
            "chunk_index": place.chunk_index,
            "file_index": place.file_index,
            "from_timestamp": start,
            "to_timestamp": start + _duration(times, self._spec.fps),
        }

    def _write_video(self, camera: str, images: Iterable[np.ndarray], times: np.ndarray) -> Stats:
        place, start = self._video_places[camera], self._video_end_s[camera]
        relative = VIDEO_PATH.format(
            video_key=IMAGE_PREFIX + camera, chunk_index=place.chunk_index, file_index=place.file_index
        )
        path = self._root / relative
        if camera not in self._videos:
            path.parent.mkdir(parents=True, exist_ok=True)
            width, height = self._spec.camera_sizes[camera]
            self._videos[camera] = VideoWriter(
                path, width=width, height=height, fps=self._spec.fps, codec=self._spec.codec
            )
        collected = image_stats()
        for step, (image, time_s) in enumerate(zip(images, times, strict=True)):
            self._videos[camera].add(image, start + float(time_s), is_first=step == 0)
            collected.add(image)
        self._video_end_s[camera] = start + _duration(times, self._spec.fps)
        if path.stat().st_size > self._spec.video_files_size_in_mb * _MB:
            self._videos.pop(camera).close()
            place.roll(self._spec.chunks_size)
            self._video_end_s[camera] = 0.0
        return collected.result()

    def _write_data(self, index: int, task_index: int, times: np.ndarray, numbers: Mapping[str, np.ndarray]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        count = len(times)
        columns = {key: _list_column(values) for key, values in numbers.items()}
        columns |= {
            "timestamp": pa.array(times, pa.float32()),
            "frame_index": pa.array(np.arange(count)),
            "episode_index": pa.array(np.full(count, index)),
            "index": pa.array(np.arange(self._frame_count, self._frame_count + count)),
            "task_index": pa.array(np.full(count, task_index)),
        }
        table = pa.table(columns)
        place = self._data_place
        if self._data is None:
            path = self._root / DATA_PATH.format(chunk_index=place.chunk_index, file_index=place.file_index)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._data = pq.ParquetWriter(path, table.schema)
        self._data.write_table(table, row_group_size=max(count, 1))
        self._data_bytes += table.nbytes
        if self._data_bytes > self._spec.data_files_size_in_mb * _MB:
            self._data.close()
            self._data, self._data_bytes = None, 0
            place.roll(self._spec.chunks_size)

    def _close_files(self) -> None:
        for writer in self._videos.values():
            writer.close()
        self._videos = {}
        if self._data is not None:
            self._data.close()
            self._data = None

    def _info(self) -> dict[str, Any]:
        spec = self._spec
        fps = int(spec.fps) if float(spec.fps).is_integer() else spec.fps
        return {
            "codebase_version": VERSION, "robot_type": spec.robot_type, "total_episodes": len(self._rows),
            "total_frames": self._frame_count, "total_tasks": len(self._tasks), "chunks_size": spec.chunks_size,
            "data_files_size_in_mb": spec.data_files_size_in_mb,
            "video_files_size_in_mb": spec.video_files_size_in_mb, "fps": fps,
            "splits": {"train": f"0:{len(self._rows)}"}, "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if spec.camera_sizes else None, "features": self._features(),
        }  # fmt: skip

    def _features(self) -> dict[str, Any]:
        spec = self._spec
        features: dict[str, Any] = {
            STATE: _vector_feature(len(spec.joint_names), list(spec.joint_names)),
            ACTION: _vector_feature(len(spec.action_names), list(spec.action_names)),
        }
        features |= {key: _vector_feature(width, None) for key, width in spec.extras.items()}
        for camera, (width, height) in spec.camera_sizes.items():
            features[IMAGE_PREFIX + camera] = {
                "dtype": "video", "shape": [height, width, 3], "names": ["height", "width", "channels"],
                "info": {
                    "video.height": height, "video.width": width, "video.codec": spec.codec,
                    "video.pix_fmt": "yuv420p", "video.is_depth_map": False, "video.fps": spec.fps,
                    "video.channels": 3, "has_audio": False,
                },
            }  # fmt: skip
        scalars = {"timestamp": "float32"} | dict.fromkeys(
            ("frame_index", "episode_index", "index", "task_index"), "int64"
        )
        features |= {key: {"dtype": kind, "shape": [1], "names": None} for key, kind in scalars.items()}
        return features


def _vector_feature(width: int, names: list[str] | None) -> dict[str, Any]:
    return {"dtype": "float32", "shape": [width], "names": names}


def _duration(times: np.ndarray, fps: float) -> float:
    """Time that the episode takes in the file: up to one period past its last frame."""
    return float(times[-1]) + 1.0 / fps if len(times) else 0.0


def _list_column(values: np.ndarray) -> Any:
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(values, dtype=np.float32).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def _write_rows(rows: list[dict[str, Any]], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), path)


def _write_tasks(tasks: Mapping[str, int], path: Path) -> None:
    """A pandas frame with the task text as its index, written without pandas."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"task_index": pa.array(list(tasks.values()), pa.int64()), "task": list(tasks)})
    columns = [
        {"name": n, "field_name": n, "pandas_type": p, "numpy_type": d, "metadata": None}
        for n, p, d in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    pandas = {"index_columns": ["task"], "column_indexes": [], "columns": columns, "pandas_version": "2.2.0"}
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(pandas)}), path)
