"""One immutable recording: what was logged, in which units, by which clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gemel.artifacts.blob import BlobRef, FileRef
from gemel.artifacts.camera import Camera
from gemel.artifacts.robot import RobotModel


class Domain(StrEnum):
    """Which side of the comparison an episode comes from."""

    REAL = "real"
    STAND_IN = "stand-in"
    TWIN = "twin"


class EpisodeKind(StrEnum):
    """A trial of the task, or a scan that only looks at the scene."""

    TASK = "task"
    SCAN = "scan"


class UnitSource(StrEnum):
    """Who said what the unit of a joint is. Inferred units have to be confirmed in `twin.toml` first."""

    SOURCE = "source"
    PROJECT = "twin.toml"


@dataclass(frozen=True)
class JointSignal:
    """One logged joint, and how its logged values became SI."""

    name: str
    """Name in the log."""
    logged_unit: str
    """Unit in the log: rad, deg, m, mm, percent or span (see CONVENTIONS.md)."""
    unit: str
    """Unit in this capture: rad, m or fraction."""
    unit_source: UnitSource
    model_joint: str = ""
    """Name of the joint in the robot model, or empty without a model."""


@dataclass(frozen=True)
class VideoSegment:
    """One episode's part of a video file."""

    camera: str
    file: FileRef
    from_s: float
    """Time in the file at which the episode starts [s]."""
    frame_count: int


@dataclass(frozen=True)
class ImageSequence:
    """One image file per step; paths and hashes are columns of the episode's signal table."""

    camera: str
    frame_count: int


ImageStream = VideoSegment | ImageSequence


@dataclass(frozen=True)
class DepthCode:
    """What the whole numbers 0 to 4095 of a depth video mean [m], as LeRobot writes them."""

    least_m: float = 0.01
    most_m: float = 10.0
    shift_m: float = 3.5
    """Added before the logarithm is taken."""
    is_log: bool = True
    """Whether codes are evenly spaced in log(depth + shift), or in depth."""


@dataclass(frozen=True)
class DepthVideo:
    """One episode's part of a video of depth, aligned to the colour images of the segment's camera."""

    segment: VideoSegment
    code: DepthCode


@dataclass(frozen=True)
class ClockReport:
    """How regular the log's own time stamps are, over the whole capture."""

    rate_hz: float
    """One over the median step [Hz]."""
    jitter_s: float
    """Robust standard deviation of the steps [s] (1.4826 x median absolute deviation)."""
    gap_count: int
    """Steps longer than 1.5 medians."""
    missing_count: int
    """Samples that would have filled those gaps."""
    duplicate_count: int
    """Steps shorter than a tenth of the median."""
    backward_count: int
    """Steps back in time."""


@dataclass(frozen=True)
class EpisodeRecord:
    """One trial as the capture lists it; its numbers are read through `Frames`."""

    id: str
    kind: EpisodeKind
    domain: Domain
    task: str
    """Instruction, as logged."""
    step_count: int
    duration_s: float
    signals: BlobRef
    """Table of times, joints, actions and extras in SI units."""
    fingerprint: str
    """Hash of the raw logged numbers, without names, indices and times: equal for copies under any name."""
    streams: tuple[ImageStream, ...] = ()
    is_success: bool | None = None
    """Logged outcome, or None when the log has none."""
    object: str = ""
    """Which object was handled, where the log or the project says so."""
    depths: tuple[DepthVideo, ...] = ()
    """Depth that was logged as video; depth in image files stands in the signal table."""

    def stream(self, camera: str) -> ImageStream:
        """The image stream of one camera."""
        return next(stream for stream in self.streams if stream.camera == camera)


@dataclass(frozen=True, eq=False)
class Capture:
    """One immutable recording. Videos and images stay where they are, referenced by hash and time stamp."""

    source_format: str
    """`lerobot-v3`, `nerfstudio` or `folder`."""
    source_hash: str
    """Hash over the paths and contents of every source file."""
    episodes: tuple[EpisodeRecord, ...]
    cameras: tuple[Camera, ...]
    joints: tuple[JointSignal, ...]
    action_names: tuple[str, ...]
    action_units: tuple[str, ...]
    """Unit of each action: that of the joint of the same name, else what the source says, else `as logged`."""
    clock: ClockReport
    robot: RobotModel | None = None
    extras: Mapping[str, int] = field(default_factory=dict)
    """Further logged number streams and their widths, kept as logged."""

    def episode(self, episode_id: str) -> EpisodeRecord:
        """The record of one episode."""
        return next(record for record in self.episodes if record.id == episode_id)

    def camera(self, name: str) -> Camera:
        """The camera of that name."""
        return next(camera for camera in self.cameras if camera.name == name)
