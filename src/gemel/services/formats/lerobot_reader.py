"""Reading LeRobot v3.0: tables stream through in batches, one episode in memory at a time; no video is decoded."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import EpisodeKind
from gemel.artifacts.finding import Finding, Severity
from gemel.errors import SourceError
from gemel.services.formats.calibration import camera_from_table, check_names, scales_from_tables
from gemel.services.formats.lerobot_checks import (
    VideoHeaders,
    check_covered,
    check_info,
    check_videos,
    episode_span,
    error_finding,
)
from gemel.services.formats.lerobot_info import (
    ACTION,
    STATE,
    Feature,
    LerobotInfo,
    camera_name,
    depth_camera_name,
    read_info,
)
from gemel.services.formats.lerobot_sidecar import SIDECAR_FILE, Sidecar, read_sidecar
from gemel.services.formats.lerobot_tables import (
    EpisodeRow,
    column_matrix,
    data_batches,
    read_episode_rows,
    read_tasks,
)
from gemel.services.formats.paths import files_below, inside
from gemel.services.formats.source import DEPTH_VIDEO, OnFinding, RawDepthVideo, RawEpisode, RawVideo, SourceLayout

FORMAT = "lerobot-v3"
_FOLDERS = ("meta", "data", "videos", "images")


def recognises(root: Path) -> bool:
    """Whether the folder is a LeRobot dataset of any version."""
    return (root / "meta" / "info.json").exists()


def open_source(root: Path) -> "LerobotSource":
    """Open the dataset; only `meta/` is read."""
    info = read_info(root)
    rows = read_episode_rows(root, tuple(f.key for f in (*info.cameras(), *info.depths())))
    return LerobotSource(root, info, tuple(rows), read_tasks(root), read_sidecar(root))


@dataclass(frozen=True, eq=False)
class LerobotSource:
    """An opened LeRobot v3.0 dataset."""

    root: Path
    info: LerobotInfo
    rows: tuple[EpisodeRow, ...]
    task_from_index: Mapping[int, str]
    sidecar: Sidecar

    @cached_property
    def layout(self) -> SourceLayout:
        """What `meta/` says."""
        features, sidecar = self.info.features, self.sidecar
        layout = SourceLayout(
            format=FORMAT,
            robot_type=self.info.robot_type,
            joint_names=_vector_names(features.get(STATE), "joint"),
            action_names=_vector_names(features.get(ACTION), "action"),
            cameras=tuple(self._camera(f) for f in self.info.cameras()),
            codec_from_camera={camera_name(f.key): f.codec for f in self.info.cameras()},
            extras={f.key: _width(f) for f in self.info.extras()},
            rate_hz=self.info.fps,
            declared_scales=scales_from_tables(sidecar.joints, sidecar.actions, file=SIDECAR_FILE),
            robot_model=sidecar.robot.model,
            depth_from_camera={depth_camera_name(f.key): DEPTH_VIDEO for f in self.info.depths()},
        )
        check_names(sidecar.joints, layout.joint_names, where=f"{SIDECAR_FILE} [joints]")
        check_names(sidecar.actions, layout.action_names, where=f"{SIDECAR_FILE} [actions]")
        check_names(sidecar.cameras, [c.name for c in layout.cameras], where=f"{SIDECAR_FILE} [cameras]")
        return layout

    def episode_count(self) -> int:
        """Rows of `meta/episodes`."""
        return len(self.rows)

    def files(self) -> tuple[str, ...]:
        """All files below meta/, data/ and videos/ (and images/, where raw frames were kept)."""
        return files_below(self.root, _FOLDERS)

    def check_files(self, on_finding: OnFinding) -> None:
        """Counters and videos against the episode list."""
        check_info(self.info, self.rows, on_finding)
        check_videos(self.info, self.rows, self._headers, on_finding)

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
                on_finding(error_finding("unreadable-table", error, episode=episode_span(rows)))

    @cached_property
    def _headers(self) -> VideoHeaders:
        return VideoHeaders(self.root)

    def _episodes_of(
        self, path: Path, row_from_index: dict[int, EpisodeRow], on_finding: OnFinding
    ) -> Iterator[RawEpisode]:
        wanted = [f.key for f in (self.info.features.get(STATE), self.info.features.get(ACTION)) if f]
        columns = [*wanted, *(f.key for f in self.info.extras()), "timestamp", "episode_index", "task_index"]
        for index, table in data_batches(path, columns):
            row = row_from_index.pop(index, None)
            if row is None:
                on_finding(_unlisted(index, path))
                continue
            try:
                yield self._raw_episode(row, table, on_finding)
            except SourceError as error:
                on_finding(error_finding("unreadable-episode", error, episode=str(index)))
        for row in row_from_index.values():
            on_finding(_missing(row, path))

    def _raw_episode(self, row: EpisodeRow, table: Any, on_finding: OnFinding) -> RawEpisode:
        if table.num_rows != row.length:
            on_finding(_length_mismatch(row, table.num_rows))
        task = self._task(row, table)
        streams = tuple(self._stream(row, f.key, camera_name(f.key)) for f in self.info.cameras())
        depths = tuple(self._depth(row, f) for f in self.info.depths())
        times_s = column_matrix(table, "timestamp", 1)[:, 0]
        for stream in (*streams, *(depth.video for depth in depths)):
            self._check_covered(stream, times_s, row, on_finding)
        return RawEpisode(
            id=str(row.index),
            kind=self._kind(row, task),
            task=task,
            times_s=times_s,
            state=self._vector(table, STATE),
            action=self._vector(table, ACTION),
            streams=streams,
            extras={f.key: column_matrix(table, f.key, _width(f)) for f in self.info.extras()},
            is_success=_outcome(table),
            object=row.object or self.sidecar.episodes.object_of(row.index),
            depths=depths,
        )

    def _vector(self, table: Any, key: str) -> Float[np.ndarray, "t width"]:
        feature = self.info.features.get(key)
        return np.zeros((table.num_rows, 0)) if feature is None else column_matrix(table, key, _width(feature))

    def _task(self, row: EpisodeRow, table: Any) -> str:
        if row.tasks:
            return row.tasks[0]
        index = column_matrix(table, "task_index", 1)[0, 0] if table.num_rows else np.nan
        return self.task_from_index.get(int(index), "") if np.isfinite(index) else ""

    def _kind(self, row: EpisodeRow, task: str) -> EpisodeKind:
        is_scan = row.index in self.sidecar.episodes.scan or task.lower().split(" ")[0] == "scan"
        return EpisodeKind.SCAN if is_scan else EpisodeKind.TASK

    def _stream(self, row: EpisodeRow, key: str, camera: str) -> RawVideo:
        place = row.video_from_key[key]
        path = self.info.video_file(key, place.chunk_index, place.file_index)
        return RawVideo(camera, path, place.from_s, row.length)

    def _depth(self, row: EpisodeRow, feature: Feature) -> RawDepthVideo:
        assert feature.depth_code is not None
        return RawDepthVideo(self._stream(row, feature.key, depth_camera_name(feature.key)), feature.depth_code)

    def _check_covered(
        self, stream: RawVideo, times_s: Float[np.ndarray, " t"], row: EpisodeRow, on_finding: OnFinding
    ) -> None:
        try:
            header = self._headers.get(stream.path)
        except SourceError:
            return  # check_files reports it, once per file
        check_covered(header, stream, times_s, str(row.index), on_finding)

    def _camera(self, feature: Feature) -> Camera:
        height, width = self.info.image_size(feature.key)
        camera = Camera(camera_name(feature.key), width, height)
        table = self.sidecar.cameras.get(camera.name)
        return camera if table is None else camera_from_table(camera.name, table, camera, file=SIDECAR_FILE)


def _unlisted(index: int, path: Path) -> Finding:
    return Finding(
        "unlisted-episode", Severity.ERROR,
        f"{path} holds rows of episode {index}, which meta/episodes places elsewhere or does not list, or which "
        "come in several pieces.",
        "restore meta/episodes, or remove those rows", episode=str(index),
    )  # fmt: skip


def _missing(row: EpisodeRow, path: Path) -> Finding:
    return Finding(
        "missing-episode", Severity.ERROR,
        f"Episode {row.index} is listed in meta/episodes but has no rows in {path}.",
        "restore the data file from the recording", episode=str(row.index),
    )  # fmt: skip


def _length_mismatch(row: EpisodeRow, count: int) -> Finding:
    return Finding(
        "length-mismatch", Severity.ERROR,
        f"Episode {row.index} has {count} rows; meta/episodes says {row.length}.",
        "the recording was cut off or edited: restore it", episode=str(row.index),
    )  # fmt: skip


def _width(feature: Feature) -> int:
    return feature.shape[0] if feature.shape else 1


def _vector_names(feature: Feature | None, fallback: str) -> tuple[str, ...]:
    if feature is None:
        return ()
    width = _width(feature)
    return feature.names if len(feature.names) == width else tuple(f"{fallback}{i}" for i in range(width))


def _outcome(table: Any) -> bool | None:
    if "next.success" not in table.column_names or not table.num_rows:
        return None
    last = column_matrix(table, "next.success", 1)[-1, 0]
    return bool(last) if np.isfinite(last) else None
