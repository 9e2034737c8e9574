"""`meta/info.json` of a LeRobot v3.0 dataset, as types. Counters in it are claims, not facts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemel.errors import SourceError
from gemel.services.formats.paths import fill_template, inside

VERSION = "v3.0"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
STATE, ACTION = "observation.state", "action"
IMAGE_PREFIX = "observation.images."
BOOKKEEPING = ("timestamp", "frame_index", "episode_index", "index", "task_index")


@dataclass(frozen=True)
class Feature:
    """One entry of `features`."""

    key: str
    dtype: str
    shape: tuple[int, ...]
    names: tuple[str, ...]
    """One per element for vectors; empty when the log has none."""
    codec: str
    is_depth: bool


@dataclass(frozen=True)
class LerobotInfo:
    """What the dataset says about itself."""

    root: Path
    robot_type: str
    fps: float
    total_episodes: int
    total_frames: int
    features: Mapping[str, Feature]
    data_path: str
    video_path: str

    def data_file(self, chunk_index: int, file_index: int) -> str:
        """Relative path of one data table."""
        return self._fill(self.data_path, chunk_index=chunk_index, file_index=file_index)

    def video_file(self, video_key: str, chunk_index: int, file_index: int) -> str:
        """Relative path of one video."""
        return self._fill(self.video_path, video_key=video_key, chunk_index=chunk_index, file_index=file_index)

    def cameras(self) -> tuple[Feature, ...]:
        """Colour video features; depth video is not an image stream."""
        return tuple(f for f in self.features.values() if f.dtype == "video" and not f.is_depth)

    def extras(self) -> tuple[Feature, ...]:
        """Further number features."""
        known = {STATE, ACTION, *BOOKKEEPING}
        return tuple(
            f for f in self.features.values()
            if f.key not in known and f.dtype.startswith(("float", "int", "bool")) and len(f.shape) <= 1
        )  # fmt: skip

    def _fill(self, template: str, **values: object) -> str:
        relative = fill_template(template, allowed=("video_key", "chunk_index", "file_index"), **values)
        inside(self.root, relative)
        return relative


def camera_name(key: str) -> str:
    """`observation.images.wrist` → `wrist`."""
    return key.removeprefix(IMAGE_PREFIX).removeprefix("observation.")


def read_info(root: Path) -> LerobotInfo:
    """Parse and check `meta/info.json`."""
    path = root / "meta" / "info.json"
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, OSError) as error:
        raise SourceError(f"{path} cannot be read: {error}.", remedy="restore it from the recording") from error
    if not isinstance(tree, dict):
        raise SourceError(f"{path} is not a JSON object.", remedy="restore it from the recording")
    version = str(tree.get("codebase_version", "none"))
    if version != VERSION:
        raise SourceError(
            f"{path} says LeRobot {version}; this reader knows {VERSION}.",
            remedy="convert the dataset with LeRobot's own v3.0 converter",
        )
    try:
        features = {key: _feature(key, entry) for key, entry in tree["features"].items()}
        fps = float(tree["fps"])
        counts = int(tree.get("total_episodes", 0)), int(tree.get("total_frames", 0))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SourceError(
            f"{path} lacks or garbles a required entry ({type(error).__name__}: {error}).",
            remedy="it needs fps (a positive number) and features with dtype and shape",
        ) from error
    if not 0 < fps < 1e6:
        raise SourceError(f"{path} says fps {fps}; a positive number was expected.", remedy="correct fps")
    return LerobotInfo(
        root, str(tree.get("robot_type") or "unknown"), fps, *counts, features,
        str(tree.get("data_path") or DATA_PATH), str(tree.get("video_path") or VIDEO_PATH),
    )  # fmt: skip


def _feature(key: str, entry: Mapping[str, Any]) -> Feature:
    details = {**(entry.get("video_info") or {}), **(entry.get("info") or {})}
    depth = details.get("is_depth_map") or details.get("video.is_depth_map") or False
    shape = tuple(int(n) for n in entry["shape"])
    return Feature(
        key,
        str(entry["dtype"]),
        shape,
        _names(entry.get("names")),
        str(details.get("video.codec", "")),
        bool(depth),
    )


def _names(entry: Any) -> tuple[str, ...]:
    """Names come as a list, as `{"motors": [...]}`, or not at all."""
    if isinstance(entry, dict):
        entry = next((value for value in entry.values() if isinstance(value, list)), None)
    return tuple(str(name) for name in entry) if isinstance(entry, list) else ()
