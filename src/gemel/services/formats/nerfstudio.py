"""Reading nerfstudio's `transforms.json`: one scan episode with a known camera pose per frame.

Poses are stored camera-to-world with x right, y up, looking along -z; Gemel's cameras have x right, y down,
z forward, so the y and z axes change sign.
"""

import json
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
from gemel.errors import GemelError, SourceError
from gemel.geometry import SE3, CameraModel, Fisheye, OpenCV, Pinhole
from gemel.services.formats.image_file import image_size
from gemel.services.formats.paths import inside
from gemel.services.formats.source import OnFinding, RawEpisode, RawImages, SourceLayout

FORMAT = "nerfstudio"
CAMERA = "camera"
_FILE = "transforms.json"
_OPENCV_FROM_OPENGL = np.diag([1.0, -1.0, -1.0, 1.0])
_INTRINSICS = ("fl_x", "fl_y", "cx", "cy")
_MODELS = ("OPENCV", "OPENCV_FISHEYE", "PINHOLE", "SIMPLE_PINHOLE")


def recognises(root: Path) -> bool:
    """Whether the folder has a `transforms.json`."""
    return (root / _FILE).exists()


def open_source(root: Path) -> "NerfstudioSource":
    """Open the set; only `transforms.json` is read."""
    path = root / _FILE
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        frames = tuple(tree["frames"])
    except (json.JSONDecodeError, UnicodeDecodeError, OSError, KeyError, TypeError) as error:
        raise SourceError(
            f"{path} cannot be read ({type(error).__name__}: {error}).",
            remedy="it must be a JSON object with a list `frames`",
        ) from error
    if not frames:
        raise SourceError(f"{path} lists no frames.", remedy="export the camera poses again")
    return NerfstudioSource(root, tree, frames)


@dataclass(frozen=True, eq=False)
class NerfstudioSource:
    """An opened `transforms.json`."""

    root: Path
    tree: Mapping[str, Any]
    frames: tuple[Mapping[str, Any], ...]

    @cached_property
    def layout(self) -> SourceLayout:
        """One camera, no joints, no clock."""
        return SourceLayout(
            format=FORMAT,
            robot_type="none",
            joint_names=(),
            action_names=(),
            cameras=(self._camera(),),
            codec_from_camera={CAMERA: Path(self._path(self.frames[0], "file_path")).suffix.lstrip(".")},
            extras={},
            rate_hz=None,
            declared_scales={},
        )

    def episode_count(self) -> int:
        """A set of views is one scan."""
        return 1

    def files(self) -> tuple[str, ...]:
        """`transforms.json`, images and masks."""
        images = [self._path(frame, "file_path") for frame in self.frames]
        masks = [self._path(frame, "mask_path") for frame in self.frames if "mask_path" in frame]
        return tuple(sorted({_FILE, *images, *masks}))

    def check_files(self, on_finding: OnFinding) -> None:
        """Every image there, readable, and of one size."""
        expected = (self.layout.cameras[0].width, self.layout.cameras[0].height)
        for step, frame in enumerate(self.frames):
            try:
                size = image_size(inside(self.root, self._path(frame, "file_path")))
                problem = (
                    "" if size == expected else f"Image {step} is {size[0]}x{size[1]}, not {expected[0]}x{expected[1]}."
                )
                remedy = "resize the images or correct w and h"
            except SourceError as error:
                problem, remedy = error.problem, error.remedy
            if problem:
                on_finding(Finding("unreadable-image", Severity.ERROR, problem, remedy, "0", CAMERA, float(step)))

    def episodes(self, on_finding: OnFinding) -> Iterator[RawEpisode]:
        """The one scan."""
        count = len(self.frames)
        has_masks = all("mask_path" in frame for frame in self.frames)
        try:
            poses = self._poses()
            intrinsics = np.array([self._intrinsics(frame) for frame in self.frames])
            images = tuple(self._path(frame, "file_path") for frame in self.frames)
            masks = tuple(self._path(frame, "mask_path") for frame in self.frames) if has_masks else ()
        except GemelError as error:
            on_finding(Finding("unreadable-episode", Severity.ERROR, error.problem, error.remedy, "0"))
            return
        yield RawEpisode(
            id="0",
            kind=EpisodeKind.SCAN,
            task="scan",
            times_s=np.arange(count, dtype=np.float64),
            state=np.zeros((count, 0)),
            action=np.zeros((count, 0)),
            streams=(RawImages(CAMERA, images, masks),),
            camera_poses={CAMERA: poses},
            camera_intrinsics={CAMERA: intrinsics},
        )

    def _poses(self) -> SE3:
        """`Ts_world_camera`, in Gemel's camera axes."""
        try:
            matrices = np.array([frame["transform_matrix"] for frame in self.frames], dtype=np.float64)
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(
                f"A frame of {_FILE} has no 4x4 `transform_matrix` ({error}).",
                remedy="export the poses again",
            ) from error
        if matrices.shape != (len(self.frames), 4, 4):
            raise SourceError(
                f"`transform_matrix` has shape {matrices.shape[1:]}; (4, 4) was expected.",
                remedy="export the poses again",
            )
        return SE3.from_matrix(matrices @ _OPENCV_FROM_OPENGL)

    def _intrinsics(self, frame: Mapping[str, Any]) -> Float[np.ndarray, "4"]:
        width, height = self._size(frame)
        defaults = {"cx": width / 2, "cy": height / 2, "fl_y": self._value(frame, "fl_x", None)}
        values = [self._value(frame, name, defaults.get(name)) for name in _INTRINSICS]
        if any(value is None for value in values):
            raise SourceError(
                f"{_FILE} gives no focal length `fl_x` for {frame.get('file_path')!r}.",
                remedy="add fl_x, fl_y, cx, cy per frame or once at the top",
            )
        return np.array(values, dtype=np.float64)

    def _size(self, frame: Mapping[str, Any]) -> tuple[int, int]:
        width, height = self._value(frame, "w", 0), self._value(frame, "h", 0)
        if width and height:
            return int(width), int(height)
        return image_size(inside(self.root, self._path(frame, "file_path")))

    def _value(self, frame: Mapping[str, Any], name: str, default: float | None) -> float | None:
        value = frame.get(name, self.tree.get(name, default))
        if value is not None and not isinstance(value, int | float):
            raise SourceError(f"{_FILE} has {name} = {value!r}.", remedy="it must be a number")
        return value

    def _camera(self) -> Camera:
        frame = self.frames[0]
        width, height = self._size(frame)
        return Camera(CAMERA, width, height, model=self._model(frame, width, height), has_pose_per_frame=True)

    def _model(self, frame: Mapping[str, Any], width: int, height: int) -> CameraModel:
        fx, fy, cx, cy = self._intrinsics(frame)
        common: dict[str, Any] = {"width": width, "height": height, "fx": fx, "fy": fy, "cx": cx, "cy": cy}
        name = str(frame.get("camera_model", self.tree.get("camera_model", "OPENCV")))
        if name not in _MODELS:
            raise SourceError(
                f"{_FILE} has camera_model {name!r}.",
                remedy=f"undistort the images; Gemel reads {list(_MODELS)}",
            )
        names = ("k1", "k2", "k3", "k4") if name == "OPENCV_FISHEYE" else ("k1", "k2", "p1", "p2")
        k: dict[str, Any] = {key: float(self._value(frame, key, 0.0) or 0.0) for key in names}
        if name == "OPENCV_FISHEYE":
            return Fisheye(**common, **k)
        return OpenCV(**common, **k) if any(k.values()) else Pinhole(**common)

    def _path(self, frame: Mapping[str, Any], key: str) -> str:
        relative = str(frame.get(key, "")).removeprefix("./")
        inside(self.root, relative)
        return relative
