"""Episodes of any robot, with what its cameras saw, as a LeRobot v3.0 dataset that says its units and cameras."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from gemel.artifacts.camera import Camera
from gemel.artifacts.episode import Episode
from gemel.errors import SourceError
from gemel.services.formats.calibration import camera_table
from gemel.services.formats.lerobot_spec import LerobotSpec
from gemel.services.formats.lerobot_writer import LerobotWriter, refuse_existing
from gemel.services.formats.toml_table import toml_key, toml_lines

POSE_PREFIX = "observation.object_pose."
_SUCCESS = "next.success"
_HEADER = "# Object poses: x, y, z [m], then the quaternion wxyz, in the world with z up."

Frames = Mapping[str, Sequence[UInt8[np.ndarray, "_ _ 3"]]]


@dataclass(frozen=True, eq=False)
class RobotNotes:
    """What all episodes of a robot have in common."""

    joint_names: tuple[str, ...]
    action_names: tuple[str, ...]
    robot_type: str
    joint_units: Mapping[str, str] = field(default_factory=dict)
    action_units: Mapping[str, str] = field(default_factory=dict)
    """Of actions that are no joints."""
    cameras: tuple[Camera, ...] = ()
    object_name: str = ""
    """What the episodes are about, if one thing."""

    def sidecar(self) -> str:
        """`meta/gemel.toml`."""
        tables = [({"unit": unit}, f"joints.{toml_key(name)}") for name, unit in self.joint_units.items()]
        tables += [({"unit": unit}, f"actions.{toml_key(name)}") for name, unit in self.action_units.items()]
        tables += [(camera_table(camera), f"cameras.{toml_key(camera.name)}") for camera in self.cameras]
        return "\n".join([_HEADER, *(line for table, name in tables for line in ("", *toml_lines(table, name)))]) + "\n"


class Recorder:
    """Writes episodes as they come; use it as a context. An exception inside leaves nothing behind."""

    def __init__(self, folder: Path, notes: RobotNotes, *, fps: float) -> None:
        refuse_existing(folder)
        self._folder, self._notes, self._fps = folder, notes, fps
        self._writer: LerobotWriter | None = None

    def add(self, episode: Episode, frames: Frames | None = None) -> None:
        """One more episode; all have the objects and cameras of the first."""
        frames = frames or {}
        with _told_in_words(self._folder):
            if self._writer is None:
                self._writer = LerobotWriter(self._folder, self._spec(episode, frames))
                self._writer.write_sidecar(self._notes.sidecar())
            self._writer.add_episode(
                task=episode.task,
                state=episode.joint_positions,
                action=episode.actions,
                images={name: list(images) for name, images in frames.items()},
                extras=numbers_of(episode),
                times_s=episode.times_s,
                object_name=self._notes.object_name,
            )

    def _spec(self, first: Episode, frames: Frames) -> LerobotSpec:
        return LerobotSpec(
            fps=self._fps,
            joint_names=self._notes.joint_names,
            action_names=self._notes.action_names,
            camera_sizes={name: (images[0].shape[1], images[0].shape[0]) for name, images in frames.items()},
            extras={key: values.shape[1] for key, values in numbers_of(first).items()},
            robot_type=self._notes.robot_type,
        )

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if self._writer is not None:
            with _told_in_words(self._folder):
                self._writer.__exit__(kind, *rest)


@contextmanager
def _told_in_words(folder: Path) -> Iterator[None]:
    """A disk that is full or taken away is no mistake of the program."""
    try:
        yield
    except OSError as error:
        raise SourceError(
            f"The dataset {folder} cannot be written: {error.strerror or error}. Nothing of it is left.",
            remedy="make room there, or give another folder",
        ) from error


def numbers_of(episode: Episode) -> dict[str, Float[np.ndarray, "t _"]]:
    """Further columns: the objects' poses, and one at the end of an episode that went well."""
    success = np.zeros((len(episode.times_s), 1))
    success[-1] = float(bool(episode.is_success))
    poses = {
        POSE_PREFIX + name: np.concatenate([pose.translation, pose.rotation.wxyz], axis=1)
        for name, pose in episode.object_poses.items()
    }
    return {**poses, _SUCCESS: success}
