"""A twin that follows a running episode: what the robot's sensors say goes in, the present scene comes out.

At each step the joint readings are taken over, every object is looked for in the newest images from where it should be
(`guess.py`), and the draws of the rehearsal (`rehearsal.py`) are corrected by what was seen: so the scene moves with
the real one, and the belief about its physics grows. Images are a little old when they arrive; what is told is the pose
now, carried on by the object's present velocity. Every state has a version.

Owns: where things are now and what is believed now. Does not own: how a frame is searched (services/tracking), how
scenes are simulated (services/sim).
Judged by: `gemel bench live`.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief
from gemel.artifacts.blob import Blobs
from gemel.artifacts.capture import JointSignal
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.runtime.check_observation import check_observation
from gemel.runtime.guess import Guess
from gemel.runtime.plates import Plates
from gemel.runtime.rehearsal import Rehearsal, RehearsalConfig, Sighting, middle
from gemel.services.kinematics.joint_log import joint_log
from gemel.services.policy.robot import Observation
from gemel.services.render.renderer import make_renderer
from gemel.services.render.torch_threads import one_torch_thread
from gemel.services.sim.joint_path import JointPath
from gemel.services.tracking.evidence import moved
from gemel.services.tracking.follower import Follower, Target
from gemel.services.tracking.lookout import make_lookout
from gemel.services.tracking.refine import FramePose, RefineConfig
from gemel.services.tracking.resting import Resting
from gemel.services.tracking.view import View

_HISTORY_WINDOWS = 5
"""Joint readings are remembered for so many windows of the rehearsal: images are late, and windows are run again."""
_BLURS_PX = (3.0, 1.5, 0.5, 0.0, 0.0, 0.0)
"""Fewer steps than in a log: a prediction is near."""


@dataclass(frozen=True)
class LiveConfig:
    """How a live twin follows."""

    has_moving_cameras: bool = False
    """Whether cameras on the robot are looked through even if two stand still."""
    rehearsal: RehearsalConfig = field(default_factory=RehearsalConfig)
    threads: int = 0
    """Of renderer and rehearsal; 0 means all cores."""


@dataclass(frozen=True, eq=False)
class LiveState:
    """The scene at one moment."""

    version: int
    """Counts up with every observation."""
    time_s: float
    """Now, by the robot's clock [s]."""
    joint_positions: Float[np.ndarray, " joint"]
    poses: Mapping[str, SE3]
    """`T_world_object` now, by object; the last known one where it is lost."""
    covariances: Mapping[str, Float[np.ndarray, "6 6"]]
    """Of a perturbation about each object's origin along the world's axes, translation first, by one frame's noise;
    of objects that are not lost."""
    lost: frozenset[str]
    belief: Belief
    seconds: float
    """What this update took [s]."""


class LiveTwin:
    """See the module; objects that are never found keep the twin's initial poses."""

    def __init__(
        self,
        twin: Twin,
        joints: tuple[JointSignal, ...],
        *,
        robot: Any,
        blobs: Blobs,
        rng: np.random.Generator,
        config: LiveConfig | None = None,
    ) -> None:
        """`robot` is the compiled robot model (`mujoco.MjModel`) or None; `joints` are the capture's."""
        from gemel.services.tracking.tracked_object import TrackedObject

        self.config = config or LiveConfig()
        seen, renderer = twin.reconstruction, make_renderer("cpu", threads=self.config.threads)
        if not seen.objects:
            raise ConfigError("The twin has no object to follow.", remedy="reconstruct one first")
        self._twin, self._joints = twin, joints
        self._lookout = make_lookout(
            seen, joints, robot=robot, renderer=renderer, has_moving_cameras=self.config.has_moving_cameras
        )
        self._plates = Plates(self._lookout.cameras)
        self._followers = {
            name: Follower(
                Target(TrackedObject(mesh), Resting(seen.placements[name]), RefineConfig(_BLURS_PX), renderer)
            )
            for name, mesh in seen.objects.items()
        }
        self._rehearsal = Rehearsal(twin, blobs, self.config.rehearsal, rng, threads=self.config.threads)
        self._poses: dict[str, SE3] = dict(twin.initial_poses)
        self._covariances: dict[str, np.ndarray] = {}
        self._guesses = {name: Guess() for name in seen.objects}
        self._times_s: list[float] = []
        self._readings: list[np.ndarray] = []
        self._version = 0

    @property
    def camera_names(self) -> tuple[str, ...]:
        """Cameras whose images it looks at."""
        return tuple(camera.name for camera in self._lookout.cameras)

    @property
    def twin(self) -> Twin:
        """The twin as it is now: poses and belief of this moment."""
        return replace(self._twin, initial_poses=dict(self._poses), belief=self._belief())

    @one_torch_thread()
    def update(self, observation: Observation) -> LiveState:
        """Take in what the sensors say."""
        began = time.perf_counter()
        self._remember(observation)
        views = self._views(observation)
        frame_s = observation.time_s + self._lookout.offset_s
        lost = self._follow(views, frame_s, observation.time_s)
        self._version += 1
        return LiveState(
            version=self._version,
            time_s=observation.time_s,
            joint_positions=observation.joint_positions,
            poses=dict(self._poses),
            covariances=dict(self._covariances),
            lost=frozenset(lost),
            belief=self._belief(),
            seconds=time.perf_counter() - began,
        )

    def _remember(self, observation: Observation) -> None:
        check_observation(observation, len(self._joints), self._lookout.cameras)
        if self._times_s and observation.time_s <= self._times_s[-1]:
            raise ConfigError(
                f"An observation of {observation.time_s:.3f} s came after one of {self._times_s[-1]:.3f} s.",
                remedy="give observations in the order of their times; start a new live twin for a new episode",
            )
        oldest_s = observation.time_s - _HISTORY_WINDOWS * self.config.rehearsal.window_s
        kept = int(np.searchsorted(self._times_s, oldest_s))
        self._times_s = [*self._times_s[kept:], float(observation.time_s)]
        self._readings = [*self._readings[kept:], observation.joint_positions]

    def _views(self, observation: Observation) -> list[View]:
        robot = self._lookout.robot
        path, log = self._path(), None
        if robot is not None:
            log = joint_log(robot.tree, self._joints, path.times_s, path.positions)
        images = [observation.images[camera.name] for camera in self._lookout.cameras]
        return [self._plates.behind(view) for view in self._lookout.views(images, log, observation.time_s, {})]

    def _path(self) -> JointPath:
        """Readings so far; a first one is taken to have lasted a while."""
        times_s, readings = np.array(self._times_s), np.stack(self._readings)
        if len(times_s) == 1:
            return JointPath(np.array([times_s[0] - 1.0, times_s[0]]), np.repeat(readings, 2, axis=0))
        return JointPath(times_s, readings)

    def _follow(self, views: list[View], frame_s: float, now_s: float) -> set[str]:
        """Find all objects in the newest images, teach the rehearsal, carry poses on to now; those that are lost."""
        rehearsal, path = self._rehearsal, self._path()
        predicted = rehearsal.advance(path, frame_s) if rehearsal.is_laid else {}
        middles = {name: middle(poses) for name, poses in predicted.items()}
        found = {
            name: follower.step(views, frame_s, predicted=self._guesses[name].pose(middles.get(name)))
            for name, follower in self._followers.items()
        }
        seen = {name: pose for name, pose in found.items() if pose is not None}
        tracked = {name: SE3.from_matrix(pose.T_world_object) for name, pose in seen.items()}
        for name, guess in self._guesses.items():
            guess.remember(tracked.get(name), middles.get(name))
        if rehearsal.is_due(frame_s) and seen:
            told = [name for name in seen if name in predicted]
            rehearsal.learn(predicted, {n: Sighting(tracked[n], _sd(seen[n], tracked[n])) for n in told}, path)
            self._lay({**self._poses, **tracked}, path, frame_s)
        if len(seen) == len(found):  # an object that is lost may be anywhere, and must not be learnt as table
            for view in views:
                self._plates.learn(
                    view, [(self._followers[n].target.tracked, p.T_world_object) for n, p in seen.items()]
                )
        self._covariances = {name: np.linalg.inv(pose.information) for name, pose in seen.items()}
        for name, pose in seen.items():
            ahead = self._followers[name].velocity * (now_s - frame_s)
            self._poses[name] = SE3.from_matrix(moved(pose.T_world_object, ahead))
        return set(found) - set(seen)

    def _lay(self, poses: Mapping[str, SE3], path: JointPath, frame_s: float) -> None:
        """Start a new window of the rehearsal."""
        velocities = {name: follower.velocity for name, follower in self._followers.items()}
        self._rehearsal.lay(poses, velocities, path, frame_s)
        for name, guess in self._guesses.items():
            guess.rehearsed = poses[name]

    def _belief(self) -> Belief:
        return replace(self._rehearsal.belief, record=self._twin.belief.record)


def _sd(pose: FramePose, T_world_object: SE3) -> Float[np.ndarray, "6"]:
    """Standard deviations of one frame's pose along the object's axes."""
    covariance = np.linalg.inv(pose.information)
    R = T_world_object.rotation.as_matrix().T
    turned = [np.diag(R @ covariance[k : k + 3, k : k + 3] @ R.T) for k in (0, 3)]
    return np.sqrt(np.maximum(np.concatenate(turned), 1e-14))
