"""What a LeRobot v3.0 dataset to be written has in common, and the `meta/info.json` that says so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gemel.errors import SourceError
from gemel.services.formats.lerobot_info import (
    ACTION,
    BOOKKEEPING,
    DATA_PATH,
    IMAGE_PREFIX,
    STATE,
    VERSION,
    VIDEO_PATH,
)


@dataclass(frozen=True)
class LerobotSpec:
    """What every episode of a dataset to be written has in common."""

    fps: float
    joint_names: tuple[str, ...]
    action_names: tuple[str, ...]
    camera_sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Width and height [px] by camera; both even, as the codecs want them."""
    extras: Mapping[str, int] = field(default_factory=dict)
    """Further number features and their widths."""
    robot_type: str = "unknown"
    codec: str = "h264"
    """`h264` or `av1`."""
    rate_factor: int = 0
    """The encoder's constant rate factor: larger is smaller and worse; 0 means the usual one of the codec."""
    data_files_size_in_mb: int = 100
    video_files_size_in_mb: int = 200
    chunks_size: int = 1000

    def __post_init__(self) -> None:
        if not 0 < self.fps < 1e6:
            raise SourceError(f"A dataset of {self.fps} frames per second cannot be written.", remedy="correct fps")
        for camera, size in self.camera_sizes.items():
            if "/" in camera or any(side < 2 or side % 2 for side in size):
                raise SourceError(
                    f"Camera {camera!r} of {size[0]}x{size[1]} pixels cannot be written.",
                    remedy="give it a name without slashes, and even width and height",
                )

    @property
    def number_widths(self) -> dict[str, int]:
        """Width of each number feature; state and action are left out when they have no elements."""
        widths = {STATE: len(self.joint_names), ACTION: len(self.action_names)}
        return {key: width for key, width in widths.items() if width} | dict(self.extras)

    @property
    def names_from_key(self) -> dict[str, list[str]]:
        """Element names of state and action."""
        return {STATE: list(self.joint_names), ACTION: list(self.action_names)}


def info_tree(spec: LerobotSpec, *, episode_count: int, frame_count: int, task_count: int) -> dict[str, Any]:
    """The content of `meta/info.json`."""
    return {
        "codebase_version": VERSION,
        "robot_type": spec.robot_type,
        "total_episodes": episode_count,
        "total_frames": frame_count,
        "total_tasks": task_count,
        "chunks_size": spec.chunks_size,
        "data_files_size_in_mb": spec.data_files_size_in_mb,
        "video_files_size_in_mb": spec.video_files_size_in_mb,
        "fps": _whole(spec.fps),
        "splits": {"train": f"0:{episode_count}"},
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH if spec.camera_sizes else None,
        "features": _features(spec),
    }


def _features(spec: LerobotSpec) -> dict[str, Any]:
    features: dict[str, Any] = {
        key: {"dtype": "float32", "shape": [width], "names": spec.names_from_key.get(key)}
        for key, width in spec.number_widths.items()
    }
    for camera, (width, height) in spec.camera_sizes.items():
        features[IMAGE_PREFIX + camera] = _video_feature(spec, width, height)
    for key in BOOKKEEPING:
        features[key] = {"dtype": "float32" if key == "timestamp" else "int64", "shape": [1], "names": None}
    return features


def _video_feature(spec: LerobotSpec, width: int, height: int) -> dict[str, Any]:
    return {
        "dtype": "video",
        "shape": [height, width, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": height,
            "video.width": width,
            "video.codec": spec.codec,
            "video.pix_fmt": "yuv420p",
            "video.is_depth_map": False,
            "video.fps": _whole(spec.fps),
            "video.channels": 3,
            "has_audio": False,
        },
    }


def _whole(rate: float) -> float:
    """A whole rate as int, as LeRobot writes it."""
    return int(rate) if float(rate).is_integer() else rate
