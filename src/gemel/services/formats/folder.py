"""Reading a plain folder: images, one CSV per episode and a small TOML.

    capture.toml                      [capture] robot_type, joints; [joints.*], [cameras.*], [episodes.*]
    episodes/<id>/steps.csv           time_s, then a column per joint, `action.<name>`, `image.<camera>`
    episodes/<id>/<camera>/000.png    where the CSV has no `image.<camera>` column: one image per row, sorted
    a column `depth.<camera>`         names 16-bit PNGs of millimetres, where the camera measures depth

A complete example is in docs/formats.md.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import EpisodeKind
from gemel.artifacts.finding import Finding, Severity
from gemel.errors import SourceError
from gemel.services.formats.calibration import camera_from_table, check_names, scales_from_tables
from gemel.services.formats.image_file import image_size
from gemel.services.formats.paths import files_below, inside, plain_file
from gemel.services.formats.source import DEPTH_PNG, OnFinding, RawEpisode, RawImages, SourceLayout
from gemel.services.formats.toml_table import from_table, read_toml

FORMAT = "folder"
_TOML = "capture.toml"
_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")


@dataclass(frozen=True)
class CaptureTable:
    """`[capture]` of `capture.toml`."""

    joints: tuple[str, ...] = ()
    """Joint columns of every `steps.csv`, in order."""
    actions: tuple[str, ...] = ()
    """Action columns, without their `action.` prefix."""
    robot_type: str = "unknown"
    robot_model: str = ""
    rate_hz: float | None = None


@dataclass(frozen=True)
class EpisodeTable:
    """`[episodes.NAME]` of `capture.toml`; every key may be left out."""

    task: str = ""
    kind: EpisodeKind = EpisodeKind.TASK
    object: str = ""
    success: bool | None = None


@dataclass(frozen=True)
class FolderTables:
    """All of `capture.toml`."""

    capture: CaptureTable
    joints: dict[str, Any] = field(default_factory=dict)
    actions: dict[str, Any] = field(default_factory=dict)
    cameras: dict[str, Any] = field(default_factory=dict)
    episodes: dict[str, EpisodeTable] = field(default_factory=dict)


def recognises(root: Path) -> bool:
    """Whether the folder has a `capture.toml`."""
    return (root / _TOML).exists()


def open_source(root: Path) -> "FolderSource":
    """Open the folder; only `capture.toml` is read."""
    tables = from_table(FolderTables, read_toml(inside(root, _TOML)), where=_TOML)
    names = sorted(p.name for p in (root / "episodes").glob("*") if p.is_dir())
    if not names:
        raise SourceError(
            f"{root / 'episodes'} holds no episode folders.", remedy="put each episode into episodes/<name>/"
        )
    check_names(tables.episodes, names, where=f"{_TOML} [episodes]")
    check_names(tables.joints, tables.capture.joints, where=f"{_TOML} [joints]")
    check_names(tables.actions, tables.capture.actions, where=f"{_TOML} [actions]")
    if tables.capture.robot_model:
        inside(root, tables.capture.robot_model)
    return FolderSource(root, tables, tuple(names))


@dataclass(frozen=True, eq=False)
class FolderSource:
    """An opened plain folder."""

    root: Path
    tables: FolderTables
    names: tuple[str, ...]

    @cached_property
    def layout(self) -> SourceLayout:
        """What `capture.toml` says."""
        capture = self.tables.capture
        return SourceLayout(
            format=FORMAT,
            robot_type=capture.robot_type,
            joint_names=capture.joints,
            action_names=capture.actions,
            cameras=tuple(camera_from_table(name, table, file=_TOML) for name, table in self.tables.cameras.items()),
            codec_from_camera=dict.fromkeys(self.tables.cameras, "image files"),
            extras={},
            rate_hz=capture.rate_hz or self._rate_hz(),
            declared_scales=scales_from_tables(self.tables.joints, self.tables.actions, file=_TOML),
            robot_model=capture.robot_model,
            depth_from_camera=self._depths(),
        )

    def _depths(self) -> dict[str, str]:
        """Cameras of whose depth the first readable episode has some."""
        first = next(self.episodes(lambda finding: None), None)
        streams = first.streams if first is not None else ()
        return {s.camera: DEPTH_PNG for s in streams if isinstance(s, RawImages) and any(s.depth_paths)}

    def episode_count(self) -> int:
        """Folders below `episodes/`."""
        return len(self.names)

    def files(self) -> tuple[str, ...]:
        """All files of the folder."""
        return files_below(self.root, ("",))

    def check_files(self, on_finding: OnFinding) -> None:
        """Every image that a row names exists and has its camera's size."""
        for episode in self.episodes(lambda finding: None):
            for stream in episode.streams:
                assert isinstance(stream, RawImages)
                camera = next(c for c in self.layout.cameras if c.name == stream.camera)
                for paths in (stream.paths, stream.depth_paths):
                    for time_s, relative in zip(episode.times_s, paths, strict=False):
                        self._check_image(relative, camera, episode.id, float(time_s), on_finding)

    def episodes(self, on_finding: OnFinding) -> Iterator[RawEpisode]:
        """Each episode folder in order of name."""
        for name in self.names:
            try:
                yield self._episode(name)
            except SourceError as error:
                on_finding(Finding("unreadable-episode", Severity.ERROR, error.problem, error.remedy, episode=name))

    def _rate_hz(self) -> float | None:
        """Rate of the first episode that has one; None leaves the log without a clock."""
        for episode in self.episodes(lambda finding: None):
            steps = np.diff(episode.times_s)
            if (steps > 0).any():
                return float(1.0 / np.median(steps[steps > 0]))
        return None

    def _episode(self, name: str) -> RawEpisode:
        path = inside(self.root, f"episodes/{name}/steps.csv")
        columns = _read_csv(path)
        capture, table = self.tables.capture, self.tables.episodes.get(name, EpisodeTable())
        count = len(next(iter(columns.values())))
        return RawEpisode(
            id=name,
            kind=table.kind,
            task=table.task,
            times_s=_numbers(columns, ("time_s",), path)[:, 0],
            state=_numbers(columns, capture.joints, path),
            action=_numbers(columns, tuple(f"action.{a}" for a in capture.actions), path),
            streams=tuple(self._stream(name, camera, columns, count) for camera in self.tables.cameras),
            is_success=table.success,
            object=table.object,
        )

    def _stream(self, name: str, camera: str, columns: Mapping[str, list[str]], count: int) -> RawImages:
        base = f"episodes/{name}"
        depths = _named(base, columns.get(f"depth.{camera}", []))
        if f"image.{camera}" in columns:
            return RawImages(camera, _named(base, columns[f"image.{camera}"]), depth_paths=depths)
        folder = inside(self.root, f"{base}/{camera}")
        found = sorted(p.name for p in folder.glob("*") if p.suffix.lower() in _IMAGE_SUFFIXES)
        if len(found) != count:
            raise SourceError(
                f"{folder} holds {len(found)} images for {count} rows.",
                remedy=f"name each row's image in a column `image.{camera}`, or give one image per row",
            )
        return RawImages(camera, tuple(f"{base}/{camera}/{file}" for file in found), depth_paths=depths)

    def _check_image(self, relative: str, camera: Camera, episode: str, time_s: float, on_finding: OnFinding) -> None:
        if not relative:
            return
        try:
            size = image_size(inside(self.root, relative))
        except SourceError as error:
            problem, remedy = error.problem, error.remedy
        else:
            if size == (camera.width, camera.height):
                return
            problem = f"{relative} is {size[0]}x{size[1]}; [cameras.{camera.name}] says {camera.width}x{camera.height}."
            remedy = "correct width and height, or the image"
        on_finding(Finding("unreadable-image", Severity.ERROR, problem, remedy, episode, camera.name, time_s))


def _named(base: str, files: list[str]) -> tuple[str, ...]:
    """Files of an episode's folder that a column names; empty where a row names none."""
    return tuple(_joined(base, file) if file else "" for file in files)


def _joined(base: str, file: str) -> str:
    """`base/file` without `./` and doubled slashes, so that it names the file as the list of files does."""
    return PurePosixPath(base, file.lstrip("/")).as_posix()


def _read_csv(path: Path) -> dict[str, list[str]]:
    plain_file(path, "table")
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:  # spreadsheets put a mark before the header
            rows = list(csv.reader(file, strict=True))
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise SourceError(f"{path} is not a CSV file: {error}.", remedy="restore it") from error
    if len(rows) < 2:
        raise SourceError(f"{path} has no data rows.", remedy="restore it, or remove the episode's folder")
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise SourceError(
            f"{path} has rows of {sorted(widths)} fields; all must have as many as the header.",
            remedy="it was cut off or edited: restore it",
        )
    header = [name.strip() for name in rows[0]]
    if len(set(header)) != len(header):
        raise SourceError(f"{path} names two columns alike: {header}.", remedy="give each column its own name")
    return {name: [row[i].strip() for row in rows[1:]] for i, name in enumerate(header)}


def _numbers(columns: Mapping[str, list[str]], names: tuple[str, ...], path: Path) -> Float[np.ndarray, "t width"]:
    missing = [name for name in names if name not in columns]
    if missing:
        raise SourceError(
            f"{path} lacks the columns {missing}; it has {list(columns)}.",
            remedy="name the joints and actions in capture.toml as the CSV header names them",
        )
    count = len(next(iter(columns.values())))
    try:
        values = [[float(text) if text else np.nan for text in columns[name]] for name in names]
    except ValueError as error:
        raise SourceError(f"{path} holds text where a number belongs: {error}.", remedy="correct it") from error
    return np.array(values, dtype=np.float64).reshape(len(names), count).T
