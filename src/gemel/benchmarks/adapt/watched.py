"""Episodes in which a policy knows of the object only what cameras show.

At every control period the world's cameras are rendered. A live twin, made from a capture of the same world, follows
the object in these images, which are late, and tells where it is now. The policy and the filter beside it get that
pose, and the tip as the uncalibrated arm believes it, as in the other cells. Success is judged on the truth.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.capture import Capture, JointSignal
from gemel.artifacts.track import Tracks
from gemel.artifacts.twin import Twin
from gemel.benchmarks.adapt.cells import Cell
from gemel.benchmarks.adapt.registration import Registration, register
from gemel.benchmarks.adapt.trials import Job, believed_now, make_controller
from gemel.benchmarks.recorded import ran
from gemel.benchmarks.recorded_pushes import Pushes, project_of
from gemel.benchmarks.track_error import true_poses
from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.runtime.live_twin import LiveConfig, LiveTwin
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.policy.outcome import yaw_of
from gemel.services.policy.task_frame import task_frame
from gemel.services.tasks import get_object
from gemel.stages.reconstruct.config import ReconstructConfig
from gemel.worlds.scenario import World, WorldConfig
from gemel.worlds.truth import read_truth, truth_folder
from gemel.worlds.world_robot import WorldRobot


@dataclass(frozen=True)
class Scene:
    """Which recorded world, and where."""

    pushes: Pushes
    folder: str
    """Recordings, each with its project beside it."""
    seed: int
    """Of the project."""
    reconstruct: ReconstructConfig | None = None
    """How frames become shapes; None means as usual."""

    @property
    def recording(self) -> Path:
        """The capture."""
        return Path(self.folder) / self.pushes.name


@dataclass(frozen=True, eq=False)
class Watch:
    """One episode of one variant in one world."""

    scene: Scene
    registration: Registration
    job: Job
    variant: str
    number: int
    """Of the episode; recorded ones have small numbers."""
    steps: int = 0
    """Control periods; 0 means the task's time limit."""


@dataclass(frozen=True, eq=False)
class Watched:
    """What happened in one episode."""

    path: Float[np.ndarray, "step 3"]
    """True place [m] and heading [rad] at each of t control periods and after the last."""
    seen: Float[np.ndarray, "t 3"]
    """What the policy was told of it."""
    is_lost: Bool[np.ndarray, " t"]
    believed: Float[np.ndarray, "2 t"]
    """Mean and standard deviation of the cell's parameter."""
    spent_s: Float[np.ndarray, "t 3"]
    """What rendering, following and the rest of each control period took [s]."""


@dataclass(frozen=True, eq=False)
class OpenedTwin:
    """A twin with what a live twin needs beside it."""

    twin: Twin
    joints: tuple[JointSignal, ...]
    robot: Any
    blobs: Blobs
    tracks: Tracks
    """Of the capture's trials."""

    def live(self, seed: int) -> LiveTwin:
        """One that begins an episode, on one core."""
        rng, config = np.random.default_rng(seed), LiveConfig(threads=1)
        return LiveTwin(self.twin, self.joints, robot=self.robot, blobs=self.blobs, rng=rng, config=config)


@contextmanager
def opened(scene: Scene) -> Iterator[OpenedTwin]:
    """The twin that the pipeline makes from the capture before anything is identified, made or found."""
    with ran(project_of(scene.recording, seed=scene.seed, reconstruct=scene.reconstruct), "draft") as (run, _):
        capture = run.get("ingest", Capture)
        assert capture.robot is not None
        yield OpenedTwin(
            twin=run.get("draft", Twin),
            joints=capture.joints,
            robot=compile_stored_robot(capture.robot, run.store),
            blobs=run.store,
            tracks=run.get("track", Tracks),
        )


def registered(scene: Scene) -> Registration:
    """From the capture's own trials, tracked, whose true poses are taken as known; no other truth is used."""
    truth = read_truth(truth_folder(scene.recording))
    name = truth.object_name
    with opened(scene) as twin:
        tracks = [track for track in twin.tracks.tracks if track.object == name and not track.is_lost.all()]
        mesh = twin.twin.reconstruction.objects[name]
    if not tracks:
        raise ConfigError(f"{name} was found in no trial of {scene.recording}.", remedy="record another world")
    seen = [track.Ts_world_object.as_matrix()[~track.is_lost] for track in tracks]
    known = [true_poses(truth.episodes[int(track.episode)], track.times_s[~track.is_lost]) for track in tracks]
    return register(np.concatenate(seen), np.concatenate(known), task_frame(mesh, get_object(name)))


def run_watched(watch: Watch) -> Watched:
    """One episode in closed loop."""
    scene, cell = watch.scene, watch.job.cell
    world = world_of(scene, cell)
    controller = make_controller(watch.job, watch.variant, [world])
    (arm,), name = world.machine.arms, world.scenario.model.name
    with opened(scene) as twin:
        live = twin.live(scene.seed)
    robot = WorldRobot(world, episode=watch.number, cameras=live.camera_names)
    robot.reset(world.initial_condition(watch.number))
    controller.start(1)
    path, seen, lost, believed, spent = [_planar(robot.physics.T_world_object)], [], [], [], []
    for _ in range(watch.steps or round(cell.task.time_limit_s / cell.task.control_period_s)):
        clock = [time.perf_counter()]
        observation = robot.observe()
        clock.append(time.perf_counter())
        state = live.update(observation)
        clock.append(time.perf_counter())
        seen.append(watch.registration.planar(state.poses[name]))
        tip = world.kinematics.forward(arm, observation.joint_positions).translation[None, :2]
        action = controller.act(seen[-1][None], tip)[0]
        lost.append(name in state.lost)
        believed.append(believed_now(controller.estimator, cell.parameter, 1)[:, 0])
        robot.act(action)
        path.append(_planar(robot.physics.T_world_object))
        spent.append(np.diff([*clock, time.perf_counter()]))
    return Watched(np.stack(path), np.stack(seen), np.array(lost), np.stack(believed, axis=1), np.stack(spent))


def world_of(scene: Scene, cell: Cell) -> World:
    """The recorded world, with the cell's centre of mass."""
    config = WorldConfig(cell.task_name, seed=scene.pushes.seed, size=scene.pushes.size)
    return World(config, given={cell.parameter: cell.truth})


def _planar(T_world_object: SE3) -> Float[np.ndarray, "3"]:
    return np.array([*T_world_object.translation[:2], float(yaw_of(T_world_object))])
