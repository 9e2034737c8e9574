"""Reading LeRobot v3.0: tables stream through in batches, one episode in memory at a time; no video is decoded.

`meta/gemel.toml`, where present, adds what the format cannot say: units, cameras, robot model, scan episodes.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import EpisodeKind
from gemel.artifacts.finding import Finding, Severity
from gemel.errors import SourceError
from gemel.services.formats.calibration import camera_from_table, scales_from_tables
from gemel.services.formats.lerobot_info import ACTION, STATE, Feature, LerobotInfo, camera_name, read_info
from gemel.services.formats.lerobot_tables import (
    EpisodeRow,
    column_matrix,
    data_batches,
    read_episode_rows,
    read_tasks,
)
from gemel.services.formats.paths import inside
from gemel.services.formats.source import OnFinding, RawEpisode, RawVideo, SourceLayout
from gemel.services.formats.toml_table import read_toml
from gemel.services.formats.video import VideoHeader, read_header

FORMAT = "lerobot-v3"
SIDECAR = "meta/gemel.toml"
_SIDECAR_KEYS = ("joints", "actions", "cameras", "robot", "episodes")


def recognises(root: Path) -> bool:
    """Whether the folder is a LeRobot dataset of any version."""
    return (root / "meta" / "info.json").exists()


def open_source(root: Path) -> "LerobotSource":
    """Open the dataset; only `meta/` is read."""
    info = read_info(root)
    rows = read_episode_rows(root, tuple(f.key for f in info.cameras()))
    sidecar = read_toml(root / SIDECAR) if (root / SIDECAR).exists() else {}
    unknown = set(sidecar) - set(_SIDECAR_KEYS)
    if unknown:
        raise SourceError(
            f"{root / SIDECAR} has unknown tables {sorted(unknown)}.", remedy=f"use {list(_SIDECAR_KEYS)}"
        )
    return LerobotSource(root, info, tuple(rows), read_tasks(root), sidecar)


@dataclass(frozen=True, eq=False)
class LerobotSource:
    """An opened LeRobot v3.0 dataset."""

    root: Path
    info: LerobotInfo
    rows: tuple[EpisodeRow, ...]
    task_from_index: Mapping[int, str]
    sidecar: Mapping[str, Any]

    @cached_property
    def layout(self) -> SourceLayout:
        """What `meta/` says."""
        features = self.info.features
        return SourceLayout(
            format=FORMAT,
            robot_type=self.info.robot_type,
            joint_names=_vector_names(features.get(STATE), "joint"),
            action_names=_vector_names(features.get(ACTION), "action"),
            cameras=tuple(self._camera(f) for f in self.info.cameras()),
            codec_from_camera={camera_name(f.key): f.codec for f in self.info.cameras()},
            extras={f.key: (f.shape or (1,))[0] for f in self.info.extras()},
            rate_hz=self.info.fps,
            declared_scales={
                **scales_from_tables(self.sidecar.get("actions", {}), where="actions"),
                **scales_from_tables(self.sidecar.get("joints", {}), where="joints"),
            },
            robot_model=str(self.sidecar.get("robot", {}).get("model", "")),
        )

    def episode_count(self) -> int:
        """Rows of `meta/episodes`."""
        return len(self.rows)

    def files(self) -> tuple[str, ...]:
        """All files below meta/, data/ and videos/ (and images/, where raw frames were kept)."""
        found = (p for top in ("meta", "data", "videos", "images") for p in (self.root / top).rglob("*"))
        relative = sorted(p.relative_to(self.root).as_posix() for p in found if not p.is_dir())
        for name in relative:
            inside(self.root, name)
        return tuple(relative)

    def check_files(self, on_finding: OnFinding) -> None:
        """Counters against files, tables and videos against the episode list."""
        self._check_counters(on_finding)
        needed: dict[str, list[tuple[EpisodeRow, str]]] = defaultdict(list)
        for row in self.rows:
            for key in row.video_from_key:
                path = self._or_report(lambda k=key, r=row: self._video_path(r, k), row, key, on_finding)
                if path:
                    needed[path].append((row, key))
        for path, users in needed.items():
            self._check_video(path, users, on_finding)

    def episodes(self, on_finding: OnFinding) -> Iterator[RawEpisode]:
        """Each episode in the order of the data files."""
        rows_from_file: dict[tuple[int, int], list[EpisodeRow]] = defaultdict(list)
        for row in self.rows:
            rows_from_file[row.data_file].append(row)
        for (chunk, file), rows in rows_from_file.items():
            try:
                path = inside(self.root, self.info.data_file(chunk, file))
                yield from self._episodes_of(path, {row.index: row for row in rows}, on_finding)
            except SourceError as error:
                on_finding(_finding("unreadable-table", error, episode=_span(rows)))

    def _episodes_of(
        self, path: Path, row_from_index: dict[int, EpisodeRow], on_finding: OnFinding
    ) -> Iterator[RawEpisode]:
        wanted = [f.key for f in (self.info.features.get(STATE), self.info.features.get(ACTION)) if f]
        columns = [*wanted, *(f.key for f in self.info.extras()), "timestamp", "episode_index", "task_index"]
        for index, table in data_batches(path, columns):
            row = row_from_index.pop(index, None)
            if row is None:
                on_finding(
                    Finding(
                        "unlisted-episode", Severity.ERROR,
                        f"{path.name} holds rows of episode {index}, which meta/episodes places elsewhere "
                        "or does not list.",
                        "restore meta/episodes, or remove those rows", episode=str(index),
                    )
                )  # fmt: skip
                continue
            try:
                yield self._raw_episode(row, table, on_finding)
            except SourceError as error:
                on_finding(_finding("unreadable-episode", error, episode=str(index)))
        for row in row_from_index.values():
            on_finding(
                Finding(
                    "missing-episode", Severity.ERROR,
                    f"Episode {row.index} is listed in meta/episodes but has no rows in {path.name}.",
                    "restore the data file from the recording", episode=str(row.index),
                )
            )  # fmt: skip

    def _raw_episode(self, row: EpisodeRow, table: Any, on_finding: OnFinding) -> RawEpisode:
        count = table.num_rows
        if count != row.length:
            on_finding(
                Finding(
                    "length-mismatch", Severity.ERROR,
                    f"Episode {row.index} has {count} rows; meta/episodes says {row.length}.",
                    "the recording was cut off or edited: restore it", episode=str(row.index),
                )
            )  # fmt: skip
        task = self._task(row, table)
        return RawEpisode(
            id=str(row.index),
            kind=self._kind(row, task),
            task=task,
            times_s=column_matrix(table, "timestamp", 1)[:, 0],
            state=self._vector(table, STATE, count),
            action=self._vector(table, ACTION, count),
            streams=tuple(self._stream(row, key) for key in row.video_from_key),
            extras={f.key: column_matrix(table, f.key, (f.shape or (1,))[0]) for f in self.info.extras()},
            is_success=_outcome(table),
            object=row.object or self._object(row),
        )

    def _vector(self, table: Any, key: str, count: int) -> np.ndarray:
        feature = self.info.features.get(key)
        if feature is None:
            return np.zeros((count, 0))
        return column_matrix(table, key, feature.shape[0] if feature.shape else 1)

    def _task(self, row: EpisodeRow, table: Any) -> str:
        if row.tasks:
            return row.tasks[0]
        index = int(column_matrix(table, "task_index", 1)[0, 0]) if table.num_rows else -1
        return self.task_from_index.get(index, "")

    def _kind(self, row: EpisodeRow, task: str) -> EpisodeKind:
        listed = self.sidecar.get("episodes", {}).get("scan", [])
        is_scan = row.index in listed or task.lower().split(" ")[0] == "scan"
        return EpisodeKind.SCAN if is_scan else EpisodeKind.TASK

    def _object(self, row: EpisodeRow) -> str:
        by_object = self.sidecar.get("episodes", {}).get("object", {})
        return next((name for name, episodes in by_object.items() if row.index in episodes), "")

    def _stream(self, row: EpisodeRow, key: str) -> RawVideo:
        return RawVideo(camera_name(key), self._video_path(row, key), row.video_from_key[key].from_s, row.length)

    def _video_path(self, row: EpisodeRow, key: str) -> str:
        place = row.video_from_key[key]
        return self.info.video_file(key, place.chunk_index, place.file_index)

    def _camera(self, feature: Feature) -> Camera:
        height, width = _image_size(feature)
        camera = Camera(camera_name(feature.key), width, height)
        table = self.sidecar.get("cameras", {}).get(camera.name)
        return camera_from_table(camera.name, table, camera) if table else camera

    def _check_counters(self, on_finding: OnFinding) -> None:
        frames = sum(row.length for row in self.rows)
        for name, said, counted in (
            ("total_episodes", self.info.total_episodes, len(self.rows)),
            ("total_frames", self.info.total_frames, frames),
        ):
            if said != counted:
                on_finding(
                    Finding(
                        "counter-lies", Severity.WARNING,
                        f"meta/info.json says {name} {said}; the episode list has {counted}.",
                        "Gemel goes by the files; correct info.json for other readers", stream="meta/info.json",
                    )
                )  # fmt: skip

    def _check_video(self, relative: str, users: list[tuple[EpisodeRow, str]], on_finding: OnFinding) -> None:
        try:
            header = read_header(inside(self.root, relative))
        except SourceError as error:
            episodes = _span([row for row, _ in users])
            on_finding(_finding("unreadable-video", error, episode=episodes, stream=camera_name(users[0][1])))
            return
        for row, key in users:
            self._check_video_covers(header, row, key, relative, on_finding)

    def _check_video_covers(
        self, header: VideoHeader, row: EpisodeRow, key: str, relative: str, on_finding: OnFinding
    ) -> None:
        start = row.video_from_key[key].from_s
        needed_s = start + (row.length - 1) / self.info.fps
        if header.end_s < needed_s:
            on_finding(
                Finding(
                    "video-too-short", Severity.ERROR,
                    f"{relative} ends at {header.end_s:.2f} s; episode {row.index} needs {needed_s:.2f} s.",
                    "the video was cut off: copy it again from the recording machine",
                    episode=str(row.index), stream=camera_name(key), time_s=max(0.0, header.end_s - start),
                )
            )  # fmt: skip

    def _or_report(self, make: Any, row: EpisodeRow, key: str, on_finding: OnFinding) -> str | None:
        try:
            return str(make())
        except SourceError as error:
            on_finding(_finding("bad-path", error, episode=str(row.index), stream=camera_name(key)))
            return None


def _finding(code: str, error: SourceError, *, episode: str = "", stream: str = "") -> Finding:
    return Finding(code, Severity.ERROR, error.problem, error.remedy, episode=episode, stream=stream)


def _span(rows: list[EpisodeRow]) -> str:
    """`3`, or `3-7` for several episodes."""
    indices = sorted(row.index for row in rows)
    return str(indices[0]) if len(indices) == 1 else f"{indices[0]}-{indices[-1]}"


def _vector_names(feature: Feature | None, fallback: str) -> tuple[str, ...]:
    if feature is None:
        return ()
    width = feature.shape[0] if feature.shape else 1
    if len(feature.names) == width:
        return feature.names
    return tuple(f"{fallback}{i}" for i in range(width))


def _image_size(feature: Feature) -> tuple[int, int]:
    """Height and width; datasets store the shape as (h, w, c) or (c, h, w)."""
    if len(feature.shape) != 3:
        raise SourceError(
            f"Feature {feature.key!r} is a video of shape {feature.shape}.",
            remedy="it must be (height, width, 3)",
        )
    first, second, third = feature.shape
    return (second, third) if first <= 4 < third else (first, second)


def _outcome(table: Any) -> bool | None:
    if "next.success" not in table.column_names or not table.num_rows:
        return None
    return bool(column_matrix(table, "next.success", 1)[-1, 0])
