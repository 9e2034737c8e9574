"""What every kind of log looks like to ingest and inspect: a layout, findings, and episodes one at a time.

A new format is one module with `recognises(root)` and `open_source(root)`, added to `open_source` below.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import DepthCode, EpisodeKind
from gemel.artifacts.finding import Finding
from gemel.errors import SourceError
from gemel.geometry import SE3
from gemel.services.formats.calibration import JointScale
from gemel.services.formats.paths import inside

OnFinding = Callable[[Finding], None]

DEPTH_PNG = "16-bit PNG, mm"
DEPTH_VIDEO = "12-bit video"
_FORMAT_NAMES = "LeRobot v3.0, nerfstudio transforms.json, a plain folder with capture.toml"


@dataclass(frozen=True)
class RawVideo:
    """One episode's part of a video file."""

    camera: str
    path: str
    """Relative to the source's root."""
    from_s: float
    frame_count: int


@dataclass(frozen=True)
class RawDepthVideo:
    """One episode's part of a video of depth, aligned to a camera's colour images."""

    video: RawVideo
    code: DepthCode


@dataclass(frozen=True)
class RawImages:
    """One image file per step."""

    camera: str
    paths: tuple[str, ...]
    """Relative to the source's root; empty where the step has no image."""
    mask_paths: tuple[str, ...] = ()
    depth_paths: tuple[str, ...] = ()
    """16-bit PNG in millimetres, the same size as the images; empty where the step has none."""


@dataclass(frozen=True, eq=False)
class RawEpisode:
    """One episode in the log's own units."""

    id: str
    kind: EpisodeKind
    task: str
    times_s: Float[np.ndarray, " t"]
    state: Float[np.ndarray, "t joint"]
    action: Float[np.ndarray, "t action"]
    streams: tuple[RawVideo | RawImages, ...]
    extras: Mapping[str, Float[np.ndarray, "t _"]] = field(default_factory=dict)
    camera_poses: Mapping[str, SE3] = field(default_factory=dict)
    camera_intrinsics: Mapping[str, Float[np.ndarray, "t 4"]] = field(default_factory=dict)
    is_success: bool | None = None
    object: str = ""
    depths: tuple[RawDepthVideo, ...] = ()
    """Depth in videos; depth in image files stands with the images."""


@dataclass(frozen=True, eq=False)
class SourceLayout:
    """What the log says about itself."""

    format: str
    robot_type: str
    joint_names: tuple[str, ...]
    action_names: tuple[str, ...]
    cameras: tuple[Camera, ...]
    codec_from_camera: Mapping[str, str]
    extras: Mapping[str, int]
    rate_hz: float | None
    """Nominal rate, or None when the log has no clock."""
    declared_scales: Mapping[str, JointScale]
    """Units that the source itself states, by joint or action name."""
    depth_from_camera: Mapping[str, str] = field(default_factory=dict)
    """How the depth of each camera that has any is logged, in words."""
    robot_model: str = ""
    """Path of a robot description that comes with the log, relative to its root."""


@runtime_checkable
class Source(Protocol):
    """A log that has been opened; nothing in it is changed or kept in memory."""

    @property
    def root(self) -> Path:
        """Folder that every path is relative to."""
        ...

    @property
    def layout(self) -> SourceLayout:
        """What the log says about itself."""
        ...

    def check_files(self, on_finding: OnFinding) -> None:
        """Report what is wrong with files and counters, from headers alone."""
        ...

    def episodes(self, on_finding: OnFinding) -> Iterator[RawEpisode]:
        """Yield each readable episode; report the others."""
        ...

    def files(self) -> tuple[str, ...]:
        """Every file that belongs to the log, relative to its root, sorted."""
        ...

    def episode_count(self) -> int:
        """How many episodes the log lists."""
        ...


def open_source(path: Path) -> Source:
    """Open a log of any known format."""
    if not path.exists():
        raise SourceError(
            f"There is nothing at {path}.",
            remedy="give the folder of a LeRobot dataset, or of images with a TOML",
        )
    root = path if path.is_dir() else path.parent
    # Imported here, not at the top: the readers import the types above.
    from gemel.services.formats import folder, lerobot_reader, nerfstudio

    for reader in (lerobot_reader, nerfstudio, folder):
        if reader.recognises(root):
            source: Source = reader.open_source(root)
            _ = source.layout  # what the log says about itself is checked before anyone reads on
            return source
    raise SourceError(
        f"{path} is not a log that Gemel can read. It looked for: {_FORMAT_NAMES}.",
        remedy="point at the folder that holds meta/info.json, transforms.json or capture.toml",
    )


def robot_model_path(source: Source, given: Path | None) -> Path | None:
    """The robot's description: the one that the user gave, else the one that came with the log, else None."""
    if given is not None or not source.layout.robot_model:
        return given
    return inside(source.root, source.layout.robot_model)
