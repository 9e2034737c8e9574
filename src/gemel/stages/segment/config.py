"""Settings of the segment stage: which segmenter, which frames, and what each object was prompted with."""

from dataclasses import dataclass, field
from typing import Literal

from gemel.errors import ConfigError

BackendName = Literal["classical", "sam", "isnet", "file"]


@dataclass(frozen=True)
class PointPrompt:
    """A pixel of one frame that is on the object, or is not."""

    camera: str
    episode: str
    step: int
    xy: tuple[float, ...]
    """Column and row [px], pixel centres at +0.5."""
    is_object: bool = True

    def __post_init__(self) -> None:
        _check_numbers("xy", self.xy, 2, self.step)

    @property
    def frame(self) -> tuple[str, str, int]:
        """Episode, camera and step."""
        return self.episode, self.camera, self.step


@dataclass(frozen=True)
class BoxPrompt:
    """A rectangle of one frame that holds the object."""

    camera: str
    episode: str
    step: int
    box: tuple[float, ...]
    """Left, top, right and bottom edge [px]."""

    def __post_init__(self) -> None:
        _check_numbers("box", self.box, 4, self.step)
        if not (self.box[0] < self.box[2] and self.box[1] < self.box[3]):
            raise ConfigError(
                f"box = {list(self.box)} is empty.",
                remedy="give left, top, right, bottom with left < right, top < bottom",
            )

    @property
    def frame(self) -> tuple[str, str, int]:
        """Episode, camera and step."""
        return self.episode, self.camera, self.step


@dataclass(frozen=True)
class ObjectPrompt:
    """`[objects.NAME]`: what says which object is meant; nothing at all means the thing on the table."""

    prompt: str = ""
    """In words, such as `orange T-shaped block`: all that a whole SAM 3 checkpoint needs; `classical` understands
    colours in it."""
    points: tuple[PointPrompt, ...] = ()
    boxes: tuple[BoxPrompt, ...] = ()

    @property
    def text(self) -> str:
        """The prompt in short, for the record."""
        parts = [self.prompt] if self.prompt else []
        parts += [f"{len(self.points)} points"] if self.points else []
        parts += [f"{len(self.boxes)} boxes"] if self.boxes else []
        return ", ".join(parts) or "the thing on the table"


@dataclass(frozen=True)
class SegmentConfig:
    """How masks are made."""

    backend: BackendName = "classical"
    """`classical` needs nothing; `sam` and `isnet` need `model`; `file` needs masks in the log or in `masks`."""
    model: str = ""
    """For `sam`: a folder or hub id of a SAM 2 or SAM 3 checkpoint. For `isnet`: an ONNX file."""
    masks: str = ""
    """For `file`: a folder with OBJECT/EPISODE/CAMERA/STEP.png, white is object."""
    every_n_steps: int = 1
    """Of scans, every n-th frame is segmented."""
    every_n_task_steps: int = 5
    """Of task episodes, every n-th frame is segmented."""
    max_frames: int = 1500
    """At most about so many frames over all cameras and episodes; task episodes are thinned out first."""
    working_width: int = 320
    """Wider images are segmented at this width and the masks enlarged [px]."""
    table_height_m: float = 0.0
    """Height of the table top in the world frame [m]."""
    min_confidence: float = 0.5
    """Masks below this are flagged, and later stages leave them out."""
    objects: dict[str, ObjectPrompt] = field(default_factory=dict)
    """Prompts by object; filled from `[objects.NAME]`."""

    def __post_init__(self) -> None:
        for name in ("every_n_steps", "every_n_task_steps", "max_frames", "working_width"):
            if getattr(self, name) < 1:
                raise ConfigError(f"[segment] {name} = {getattr(self, name)} is not positive.", remedy="give 1 or more")
        if self.backend in ("sam", "isnet") and not self.model:
            raise ConfigError(
                f'[segment] backend = "{self.backend}" has no model.',
                remedy='give model = PATH (or a hub id for sam), or use backend = "classical"',
            )


def _check_numbers(name: str, values: tuple[float, ...], count: int, step: int) -> None:
    if len(values) != count or step < 0:
        raise ConfigError(
            f"{name} = {list(values)} at step {step}: {count} numbers and a step of 0 or more were expected.",
            remedy="use the frame and pixels that `gemel prompt` shows",
        )
