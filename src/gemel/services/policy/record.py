"""Episodes of any robot, with what its cameras saw, as a LeRobot v3.0 dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from gemel.artifacts.capture import Domain
from gemel.artifacts.episode import Episode
from gemel.services.formats.lerobot_writer import LerobotSpec, LerobotWriter
from gemel.services.policy.robot import InitialCondition, Observation, Robot

_SUCCESS = "next.success"


@dataclass
class WatchedRobot:
    """A robot whose frames are kept, one list for each camera; they start again at every reset."""

    robot: Robot
    frames: dict[str, list[UInt8[np.ndarray, "_ _ 3"]]] = field(default_factory=dict)

    @property
    def domain(self) -> Domain:
        """Which side of a comparison its episodes belong to."""
        return self.robot.domain

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the measured joints."""
        return self.robot.joint_names

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the action's elements."""
        return self.robot.action_names

    def reset(self, initial_condition: InitialCondition) -> None:
        """Bring arm and scene to the initial condition, and forget the frames of the episode before."""
        self.frames = {}
        self.robot.reset(initial_condition)

    def observe(self) -> Observation:
        """Read the sensors and keep the frames."""
        observation = self.robot.observe()
        for name, image in observation.images.items():
            self.frames.setdefault(name, []).append(image)
        return observation

    def act(self, action: Float[np.ndarray, " action"]) -> None:
        """Pass the action on."""
        self.robot.act(action)


@dataclass(frozen=True, eq=False)
class Recording:
    """One episode and its frames."""

    episode: Episode
    frames: Mapping[str, Sequence[UInt8[np.ndarray, "_ _ 3"]]]


def write_recordings(
    folder: Path, recordings: Sequence[Recording], *, fps: float, joint_names: tuple[str, ...],
    action_names: tuple[str, ...], object_name: str = "", robot_type: str = "twin",
) -> Path:  # fmt: skip
    """Write episodes of one robot as a dataset; poses of objects are columns `object.NAME.pose` (xyz, wxyz)."""
    first = recordings[0]
    sizes = {name: (frames[0].shape[1], frames[0].shape[0]) for name, frames in first.frames.items()}
    poses = {f"object.{name}.pose": 7 for name in first.episode.object_poses}
    spec = LerobotSpec(
        fps=fps, joint_names=joint_names, action_names=action_names, camera_sizes=sizes,
        extras=poses | {_SUCCESS: 1}, robot_type=robot_type,
    )  # fmt: skip
    with LerobotWriter(folder, spec) as writer:
        for recording in recordings:
            episode = recording.episode
            writer.add_episode(
                task=episode.task,
                state=episode.joint_positions,
                action=episode.actions,
                images={name: list(frames) for name, frames in recording.frames.items()},
                extras=_extras(episode),
                times_s=episode.times_s,
                object_name=object_name,
            )
    return folder


def _extras(episode: Episode) -> dict[str, Float[np.ndarray, "t _"]]:
    success = np.zeros((len(episode.times_s), 1))
    success[-1] = float(bool(episode.is_success))
    poses = {
        f"object.{name}.pose": np.concatenate([pose.translation, pose.rotation.wxyz], axis=1)
        for name, pose in episode.object_poses.items()
    }
    return poses | {_SUCCESS: success}
