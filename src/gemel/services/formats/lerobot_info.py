"""`meta/info.json` of a LeRobot v3.0 dataset, as types. Counters in it are claims, not facts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemel.artifacts.capture import DepthCode
from gemel.errors import SourceError
from gemel.services.formats.json_file import read_json_object
from gemel.services.formats.paths import fill_template, inside

VERSION = "v3.0"
INFO_FILE = "meta/info.json"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
STATE, ACTION = "observation.state", "action"
IMAGE_PREFIX = "observation.images."
BOOKKEEPING = ("timestamp", "frame_index", "episode_index", "index", "task_index")
_MAX_RATE_HZ = 1e6
_MAX_SIZE = 65_536
"""No vector or image side of a log is longer; a shape that says so would only fill the memory."""


_FARTHEST_M = 1000.0
"""No depth camera sees farther."""


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
    depth_code: DepthCode | None = None
    """What a depth video's numbers mean; None for other features, and where the log does not say it plainly."""


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

    def depths(self) -> tuple[Feature, ...]:
        """Depth video features of cameras that have colour video of the same size."""
        sizes = {camera_name(f.key): self.image_size(f.key) for f in self.cameras()}
        found = (f for f in self.features.values() if f.dtype == "video" and f.depth_code is not None)
        return tuple(f for f in found if sizes.get(depth_camera_name(f.key)) == self.image_size(f.key))

    def image_size(self, key: str) -> tuple[int, int]:
        """Height and width [px] of a video feature; datasets store its shape as (h, w, c) or (c, h, w)."""
        shape = self.features[key].shape
        if len(shape) != 3 or min(shape) < 1:
            raise SourceError(
                f"Feature {key!r} of {INFO_FILE} is a video of shape {list(shape)}.",
                remedy="it must be [height, width, 3]",
            )
        first, second, third = shape
        return (second, third) if first <= 4 < third else (first, second)

    def unread(self) -> tuple[Feature, ...]:
        """Features that Gemel does not take in: depth without a camera, images inside the tables, text, matrices."""
        read = {STATE, ACTION, *BOOKKEEPING, *(f.key for f in (*self.cameras(), *self.depths(), *self.extras()))}
        return tuple(f for f in self.features.values() if f.key not in read)

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


def depth_camera_name(key: str) -> str:
    """The camera that a depth feature belongs to: `observation.images.wrist_depth` → `wrist`."""
    return camera_name(key).removesuffix("depth").removeprefix("depth").strip("._-")


def read_info(root: Path) -> LerobotInfo:
    """Parse and check `meta/info.json`."""
    path = inside(root, INFO_FILE)
    tree = read_json_object(path)
    version = str(tree.get("codebase_version", "none"))
    if version != VERSION:
        raise SourceError(
            f"{path} says LeRobot {version}; this reader knows {VERSION}.",
            remedy="convert the dataset with LeRobot's own v3.0 converter",
        )
    try:
        info = LerobotInfo(
            root,
            str(tree.get("robot_type") or "unknown"),
            _rate(tree["fps"]),
            int(tree.get("total_episodes", 0)),
            int(tree.get("total_frames", 0)),
            {key: _feature(key, entry) for key, entry in tree["features"].items()},
            str(tree.get("data_path") or DATA_PATH),
            str(tree.get("video_path") or VIDEO_PATH),
        )
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise SourceError(
            f"{path} lacks or garbles a required entry ({type(error).__name__}: {error}).",
            remedy="it needs fps (a positive number) and features with dtype and shape",
        ) from error
    _check_camera_names(info, path)
    return info


def _rate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MAX_RATE_HZ:
        raise ValueError(f"fps is {value!r}, not a positive number")
    return float(value)


def _feature(key: str, entry: Mapping[str, Any]) -> Feature:
    details = {**(entry.get("video_info") or {}), **(entry.get("info") or {})}
    depth = details.get("is_depth_map") or details.get("video.is_depth_map") or False
    shape = tuple(entry["shape"])
    if not all(type(size) is int and 0 <= size <= _MAX_SIZE for size in shape):
        raise ValueError(f"feature {key!r} has shape {entry['shape']!r}, not sizes up to {_MAX_SIZE}")
    if key in (STATE, ACTION) and len(shape) != 1:
        raise ValueError(f"feature {key!r} has shape {list(shape)}, not one size")
    names = _names(entry.get("names"))
    if len(set(names)) != len(names):
        raise ValueError(f"feature {key!r} names two elements alike: {list(names)}")
    code = _depth_code(details) if depth else None
    return Feature(key, str(entry["dtype"]), shape, names, str(details.get("video.codec", "")), bool(depth), code)


def _depth_code(details: Mapping[str, Any]) -> DepthCode | None:
    """The stated numbers, LeRobot's own where they are left out; None where they make no sense."""
    usual = DepthCode()
    least, most, shift = (
        details.get(f"video.{name}", value)
        for name, value in (("depth_min", usual.least_m), ("depth_max", usual.most_m), ("shift", usual.shift_m))
    )
    is_log = details.get("video.use_log", usual.is_log)
    numbers = (least, most, shift)
    if not isinstance(is_log, bool) or any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        return None
    if not 0.0 <= least < most < _FARTHEST_M or not (least + shift > 0.0 or not is_log):
        return None
    return DepthCode(float(least), float(most), float(shift), is_log)


def _names(entry: Any) -> tuple[str, ...]:
    """Names come as a list, as `{"motors": [...]}`, or not at all."""
    if isinstance(entry, dict):
        entry = next((value for value in entry.values() if isinstance(value, list)), None)
    return tuple(str(name) for name in entry) if isinstance(entry, list) else ()


def _check_camera_names(info: LerobotInfo, path: Path) -> None:
    names = [camera_name(feature.key) for feature in info.cameras()]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SourceError(
            f"{path} has several video features that mean the cameras {twice}.",
            remedy=f"name each camera once, as {IMAGE_PREFIX}NAME",
        )
