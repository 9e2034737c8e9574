"""Who may see which episode: decided before anything is fitted."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gemel.artifacts.camera import Camera
from gemel.artifacts.capture import Capture, EpisodeRecord, JointSignal
from gemel.artifacts.robot import RobotModel


class Role(StrEnum):
    """What an episode may be used for."""

    CALIBRATION = "calibration"
    VALIDATION = "validation"
    HOLDOUT = "holdout"


@dataclass(frozen=True)
class Likeness:
    """Two episodes that count as the same evidence."""

    first: str
    second: str
    reason: str
    """`exact copy`, `same video`, `shared rows` or `same initial state`."""
    detail: str
    """The measurement behind it."""


@dataclass(frozen=True)
class Split:
    """The role of every episode of one capture."""

    by: str
    """What was kept apart: episode, object, initial-condition or camera-path."""
    seed: int
    role_from_episode: Mapping[str, Role]
    group_from_episode: Mapping[str, int]
    """Episodes of one group are alike and always share a role."""
    fingerprint_from_episode: Mapping[str, str]
    likenesses: tuple[Likeness, ...] = ()
    accepted_likenesses: tuple[Likeness, ...] = ()
    """Alike pairs that the user declared independent (`same_start = "separate"`)."""

    def episodes(self, role: Role) -> tuple[str, ...]:
        """Ids of all episodes of one role."""
        return tuple(key for key, value in self.role_from_episode.items() if value is role)


@dataclass(frozen=True, eq=False)
class FitData:
    """What a fitting stage is given: calibration and validation episodes, and nothing of the holdout."""

    calibration: tuple[EpisodeRecord, ...]
    validation: tuple[EpisodeRecord, ...]
    cameras: tuple[Camera, ...]
    joints: tuple[JointSignal, ...]
    action_names: tuple[str, ...]
    robot: RobotModel | None

    @staticmethod
    def of(capture: Capture, split: Split) -> "FitData":
        """The part of a capture that may be fitted to."""
        by_role = {
            role: tuple(e for e in capture.episodes if split.role_from_episode[e.id] is role)
            for role in (Role.CALIBRATION, Role.VALIDATION)
        }
        return FitData(
            calibration=by_role[Role.CALIBRATION],
            validation=by_role[Role.VALIDATION],
            cameras=capture.cameras,
            joints=capture.joints,
            action_names=capture.action_names,
            robot=capture.robot,
        )
