"""Reading nerfstudio's `transforms.json`: one scan episode with a known camera pose per frame.

Poses are stored camera-to-world with x right, y up, looking along -z; Gemel's cameras have x right, y down,
z forward, so the y and z axes change sign.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import EpisodeKind
from gemel.artifacts.finding import Finding, Severity
from gemel.errors import GemelError, SourceError
from gemel.geometry import SE3, CameraModel, Fisheye, OpenCV, Pinhole
from gemel.services.formats.image_file import image_size
from gemel.services.formats.json_file import read_json_object
from gemel.services.formats.paths import inside
from gemel.services.formats.source import DEPTH_PNG, OnFinding, RawEpisode, RawImages, SourceLayout

FORMAT = "nerfstudio"
CAMERA = "camera"
_FILE = "transforms.json"
_OPENCV_FROM_OPENGL = np.diag([1.0, -1.0, -1.0, 1.0])
_INTRINSICS = ("fl_x", "fl_y", "cx", "cy")
_DISTORTION = ("k1", "k2", "k3", "k4", "p1", "p2")
_PATH_KEYS = ("file_path", "mask_path", "depth_file_path")
_LARGEST = 1e9
_MODELS = ("OPENCV", "OPENCV_FISHEYE", "PINHOLE", "SIMPLE_PINHOLE")


def recognises(root: Path) -> bool:
    """Whether the folder has a `transforms.json`."""
    return (root / _FILE).exists()


def open_source(root: Path) -> "NerfstudioSource":
    """Open the set; only `transforms.json` is read."""
    path = inside(root, _FILE)
    tree = read_json_object(path)
    frames = tree.get("frames")
    if not isinstance(frames, list) or not frames or not all(isinstance(frame, dict) for frame in frames):
        raise SourceError(f"{path} lists no frames.", remedy="it must have a list `frames` of objects; export it again")
    return NerfstudioSource(root, tree, tuple(frames))


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
            depth_from_camera={CAMERA: DEPTH_PNG} if any(f.get("depth_file_path") for f in self.frames) else {},
        )

    def episode_count(self) -> int:
        """A set of views is one scan."""
        return 1

    def files(self) -> tuple[str, ...]:
        """`transforms.json`, images, masks and depth images."""
        named = {self._path(frame, key) for frame in self.frames for key in _PATH_KEYS if frame.get(key)}
        # A file that is not there is `check_files`' to report; it has no content to list here.
        return tuple(sorted({_FILE} | {name for name in named if (self.root / name).is_file()}))

    def check_files(self, on_finding: OnFinding) -> None:
        """Every image, mask and depth image there, readable, and of one size."""
        expected = (self.layout.cameras[0].width, self.layout.cameras[0].height)
        for step, frame in enumerate(self.frames):
            for key in (key for key in _PATH_KEYS if key == "file_path" or frame.get(key)):
                self._check_image(step, frame, key, expected, on_finding)

    def _check_image(
        self, step: int, frame: Mapping[str, Any], key: str, expected: tuple[int, int], on_finding: OnFinding
    ) -> None:
        try:
            relative = self._path(frame, key)
            size = image_size(inside(self.root, relative))
        except SourceError as error:
            problem, remedy = error.problem, error.remedy
        else:
            if size == expected:
                return
            problem = f"{relative} is {size[0]}x{size[1]}; {expected[0]}x{expected[1]} was expected."
            remedy = "resize the images or correct w and h"
        on_finding(Finding("unreadable-image", Severity.ERROR, problem, remedy, "0", CAMERA, float(step)))

    def episodes(self, on_finding: OnFinding) -> Iterator[RawEpisode]:
        """The one scan."""
        count = len(self.frames)
        try:
            poses = self._poses()
            self._check_one_lens()
            intrinsics = np.array([self._intrinsics(frame) for frame in self.frames])
            images = tuple(self._path(frame, "file_path") for frame in self.frames)
            masks, depths = self._optional_paths("mask_path"), self._optional_paths("depth_file_path")
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
            streams=(RawImages(CAMERA, images, masks, depths),),
            camera_poses={CAMERA: poses},
            camera_intrinsics={CAMERA: intrinsics},
        )

    def _optional_paths(self, key: str) -> tuple[str, ...]:
        """One path per frame, empty where it has none; nothing at all where no frame has one."""
        paths = tuple(self._path(frame, key) if frame.get(key) else "" for frame in self.frames)
        return paths if any(paths) else ()

    def _poses(self) -> SE3:
        """`Ts_world_camera`, in Gemel's camera axes."""
        try:
            matrices = np.array([frame["transform_matrix"] for frame in self.frames], dtype=np.float64)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
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

    def _check_one_lens(self) -> None:
        """Focal length may change from frame to frame; size and distortion may not."""
        first = self._lens(self.frames[0])
        for step, frame in enumerate(self.frames):
            if self._lens(frame) != first:
                raise SourceError(
                    f"Frame {step} of {_FILE} has size, camera_model or distortion {self._lens(frame)}; "
                    f"frame 0 has {first}.",
                    remedy="undistort the images to one size, or split the set by camera",
                )

    def _lens(self, frame: Mapping[str, Any]) -> tuple[object, ...]:
        values = (self._value(frame, name, 0.0) or 0.0 for name in ("w", "h", *_DISTORTION))
        return (self._model_name(frame), *values)

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
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LARGEST:
            raise SourceError(f"{_FILE} has {name} = {value!r}.", remedy="it must be a finite number")
        return float(value)

    def _camera(self) -> Camera:
        frame = self.frames[0]
        width, height = self._size(frame)
        return Camera(CAMERA, width, height, model=self._model(frame, width, height), has_pose_per_frame=True)

    def _model(self, frame: Mapping[str, Any], width: int, height: int) -> CameraModel:
        fx, fy, cx, cy = self._intrinsics(frame)
        common: dict[str, Any] = {"width": width, "height": height, "fx": fx, "fy": fy, "cx": cx, "cy": cy}
        k: dict[str, Any] = {name: self._value(frame, name, 0.0) or 0.0 for name in _DISTORTION}
        if self._model_name(frame) == "OPENCV_FISHEYE":
            return Fisheye(**common, **{name: k[name] for name in ("k1", "k2", "k3", "k4")})
        if k.pop("k4"):
            raise SourceError(
                f"{_FILE} has k4 = {self._value(frame, 'k4', 0.0)}, which no model of Gemel's has in that place.",
                remedy="undistort the images, or fit the lens with k1, k2, k3, p1 and p2",
            )
        return OpenCV(**common, **k) if any(k.values()) else Pinhole(**common)

    def _model_name(self, frame: Mapping[str, Any]) -> str:
        name = str(frame.get("camera_model", self.tree.get("camera_model", "OPENCV")))
        if name not in _MODELS:
            raise SourceError(
                f"{_FILE} has camera_model {name!r}.",
                remedy=f"undistort the images; Gemel reads {list(_MODELS)}",
            )
        return name

    def _path(self, frame: Mapping[str, Any], key: str) -> str:
        relative = frame.get(key, "")
        if not isinstance(relative, str) or not relative:
            raise SourceError(f"A frame of {_FILE} has {key} = {relative!r}.", remedy="it must name a file")
        relative = relative if relative.startswith("/") else PurePosixPath(relative).as_posix()
        inside(self.root, relative)
        return relative
