"""Writing LeRobot v3.0: H.264 or AV1 video, one row group per episode, finished files or none.

Everything is written to a temporary folder beside the target, which becomes the target only when complete.
Memory is the numbers of one episode; frames go to the encoder one by one.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from gemel.errors import SourceError
from gemel.services.formats.lerobot_info import ACTION, IMAGE_PREFIX, STATE, VIDEO_PATH
from gemel.services.formats.lerobot_sidecar import SIDECAR_FILE
from gemel.services.formats.lerobot_spec import LerobotSpec, info_tree
from gemel.services.formats.lerobot_stats import Stats, combine_stats, image_stats, number_stats
from gemel.services.formats.lerobot_table_writer import DataWriter, FilePlace, write_episode_rows, write_tasks
from gemel.services.formats.target_folder import check_target_folder
from gemel.services.formats.video import VideoWriter

__all__ = ["LerobotSpec", "LerobotWriter"]
_MB = 1 << 20
_SHORTEST_STEP_S = 1e-4
"""LeRobot finds a frame by its time to within this much [s]."""


def refuse_existing(root: Path) -> None:
    """Datasets go to new or empty folders only, in places that can be written to."""
    if root.exists() and not root.is_dir():
        raise SourceError(f"{root} is a file; a dataset is a folder.", remedy="give a new folder")
    if root.exists() and any(root.iterdir()):
        raise SourceError(
            f"{root} exists and is not empty; a dataset is never written over another.",
            remedy="give a new folder, or remove that one",
        )
    check_target_folder(root.absolute().parent)


class LerobotWriter:
    """Writes one dataset; use it as a context. An exception inside leaves nothing behind."""

    def __init__(self, root: Path, spec: LerobotSpec) -> None:
        refuse_existing(root)
        self._target, self._spec = root, spec
        self._root = root.with_name(f".{root.name}.{os.getpid()}.partial")
        self._root.mkdir(parents=True)
        self._data = DataWriter(self._root, file_size_mb=spec.data_files_size_in_mb, chunks_size=spec.chunks_size)
        self._videos: dict[str, VideoWriter] = {}
        self._video_places = {name: FilePlace() for name in spec.camera_sizes}
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
        times = (np.arange(count) / self._spec.fps if times_s is None else times_s).astype(np.float32)
        given = {STATE: state, ACTION: action, **(extras or {})}
        numbers = self._numbers(given, images or {}, times)
        columns = numbers | self._bookkeeping(index, task, times)
        row: dict[str, Any] = {
            "episode_index": index, "tasks": [task], "length": count,
            **{f"data/{name}": value for name, value in vars(self._data.place).items()},
            "dataset_from_index": self._frame_count, "dataset_to_index": self._frame_count + count,
        }  # fmt: skip
        stats = {key: number_stats(values.reshape(count, -1)) for key, values in columns.items()}
        for camera in self._spec.camera_sizes:
            key = IMAGE_PREFIX + camera
            row |= {f"videos/{key}/{k}": v for k, v in self._video_columns(camera, times).items()}
            stats[key] = self._write_video(camera, (images or {})[camera], times)
        self._data.add(columns)
        row |= {f"stats/{key}/{name}": v for key, s in stats.items() for name, v in s.as_lists().items()}
        row |= {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0, "object": object_name}
        self._rows.append(row)
        self._stats.append(stats)
        self._frame_count += count
        return index

    def write_sidecar(self, text: str) -> None:
        """Add `meta/gemel.toml`: units, cameras and whatever else the format cannot say."""
        self.add_file(SIDECAR_FILE, text.encode("utf-8"))

    def add_file(self, relative: str, data: bytes) -> None:
        """Add a further file, such as the robot's description."""
        path = self._root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def finish(self) -> None:
        """Close all files, write `meta/` and put the dataset in its place."""
        if not self._rows:
            raise SourceError(f"No episode was written to {self._target}.", remedy="add at least one")
        self._close_files()
        meta = self._root / "meta"
        write_episode_rows(self._rows, meta / "episodes" / "chunk-000" / "file-000.parquet")
        write_tasks(self._tasks, meta / "tasks.parquet")
        totals = {key: combine_stats([s[key] for s in self._stats]) for key in self._stats[0]}
        (meta / "stats.json").write_text(json.dumps({key: stats.as_lists() for key, stats in totals.items()}, indent=4))
        info = info_tree(
            self._spec,
            episode_count=len(self._rows),
            frame_count=self._frame_count,
            task_count=len(self._tasks),
        )
        (meta / "info.json").write_text(json.dumps(info, indent=4))
        if self._target.exists():
            self._target.rmdir()
        self._root.rename(self._target)

    def __enter__(self) -> "LerobotWriter":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.finish()
            else:
                self._close_files()
        finally:
            shutil.rmtree(self._root, ignore_errors=True)  # gone already when all went well

    def _numbers(
        self, given: Mapping[str, np.ndarray], images: Mapping[str, object], times: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The number features as they are stored: float32, width 1 as scalars."""
        widths = self._spec.number_widths
        shapes = {key: values.shape for key, values in given.items() if key in widths or values.shape[1]}
        expected = {key: (len(times), width) for key, width in widths.items()}
        if shapes != expected or set(images) != set(self._spec.camera_sizes) or not len(times):
            raise SourceError(
                f"Episode {len(self._rows)} brings {shapes} and images of {sorted(images)}; expected are {expected} "
                f"with at least one step, and images of {sorted(self._spec.camera_sizes)}.",
                remedy="give every episode what LerobotSpec says",
            )
        if images and not (np.isfinite(times).all() and times[0] >= 0 and (np.diff(times) > _SHORTEST_STEP_S).all()):
            raise SourceError(
                f"The times of episode {len(self._rows)} do not go up from zero.", remedy="sort the steps by time"
            )
        stored = {key: given[key].astype(np.float32) for key in widths}
        return {key: values[:, 0] if values.shape[1] == 1 else values for key, values in stored.items()}

    def _bookkeeping(self, index: int, task: str, times: np.ndarray) -> dict[str, np.ndarray]:
        count = len(times)
        task_index = self._tasks.setdefault(task, len(self._tasks))
        return {
            "timestamp": times,
            "frame_index": np.arange(count),
            "episode_index": np.full(count, index),
            "index": np.arange(self._frame_count, self._frame_count + count),
            "task_index": np.full(count, task_index),
        }

    def _video_columns(self, camera: str, times: np.ndarray) -> dict[str, float]:
        start = self._video_end_s[camera]
        span = {"from_timestamp": start, "to_timestamp": start + _duration(times, self._spec.fps)}
        return vars(self._video_places[camera]) | span

    def _write_video(self, camera: str, images: Iterable[np.ndarray], times: np.ndarray) -> Stats:
        start, writer = self._video_end_s[camera], self._video(camera)
        collected = image_stats()
        for step, (image, time_s) in enumerate(zip(images, times, strict=True)):
            writer.add(image, start + float(time_s), is_first=step == 0)
            collected.add(image)
        self._video_end_s[camera] = start + _duration(times, self._spec.fps)
        if writer.size_bytes >= self._spec.video_files_size_in_mb * _MB:
            self._videos.pop(camera).close()
            self._video_places[camera].roll(self._spec.chunks_size)
            self._video_end_s[camera] = 0.0
        return collected.result()

    def _video(self, camera: str) -> VideoWriter:
        """The file that is being filled with this camera's frames."""
        if camera not in self._videos:
            place = vars(self._video_places[camera])
            path = self._root / VIDEO_PATH.format(video_key=IMAGE_PREFIX + camera, **place)
            path.parent.mkdir(parents=True, exist_ok=True)
            width, height = self._spec.camera_sizes[camera]
            spec = self._spec
            self._videos[camera] = VideoWriter(
                path, width=width, height=height, fps=spec.fps, codec=spec.codec, rate_factor=spec.rate_factor
            )
        return self._videos[camera]

    def _close_files(self) -> None:
        while self._videos:
            self._videos.popitem()[1].close()
        self._data.close()


def _duration(times: np.ndarray, fps: float) -> float:
    """Time that the episode takes in the file: up to one period past its last frame."""
    return float(times[-1]) + 1.0 / fps
