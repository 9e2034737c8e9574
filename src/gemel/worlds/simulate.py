"""One episode without pictures: the operator works, the physics runs, the sensors are read, the truth is kept.

Operators look at the scene with their own eyes, so nothing has to be rendered while they work; cameras look back at
the history afterwards, in any order and in any process.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.capture import EpisodeKind
from gemel.artifacts.episode import Episode
from gemel.artifacts.task import Task
from gemel.geometry import stack
from gemel.services.policy import InitialCondition, Policy, judge, run_episode
from gemel.worlds.handover import HandoverOperator
from gemel.worlds.hidden import Stream, stream_rng
from gemel.worlds.history import History
from gemel.worlds.scan import scan_condition, scan_operator, scan_task
from gemel.worlds.scenario import World, WorldConfig
from gemel.worlds.world_robot import WorldRobot


@dataclass(frozen=True)
class EpisodeJob:
    """Which episode of which world."""

    config: WorldConfig
    episode: int
    is_scan: bool
    seconds: float = 0.0
    """Longest duration [s]; 0 means what the world's operators take."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """One episode as it was recorded, and as it really was."""

    job: EpisodeJob
    episode: Episode
    """Readings and actions at every step; actions as the log names them."""
    is_kept: Bool[np.ndarray, " t"]
    """Steps that the recorder did not lose."""
    history: History
    initial_condition: InitialCondition
    object_poses: Float[np.ndarray, "t 7"]
    """True `T_world_object`: quaternion wxyz and translation [m]."""
    log: dict[str, np.ndarray]
    """True joint positions, tool force and penetration at every step."""
    swept_friction: float
    """Mean table friction under the object while it moved; NaN when it did not."""
    events: tuple[tuple[str, float], ...]
    is_success: bool | None


def simulate_episode(job: EpisodeJob) -> Simulated:
    """Run one episode; equal jobs give equal episodes, in whatever process."""
    world = World(job.config)
    robot = WorldRobot(
        world, episode=job.episode, is_rendering=False, has_tracker=True, is_joint_controlled=job.is_scan
    )
    policy, task, condition = _setting(world, job)
    kind = EpisodeKind.SCAN if job.is_scan else EpisodeKind.TASK
    episode = run_episode(robot, policy, task, initial_condition=condition, episode_id=str(job.episode), kind=kind)
    history = robot.history()
    name = world.scenario.model.name
    poses = stack([history.pose(name, float(time_s)) for time_s in episode.times_s])
    swept = robot.physics.swept_friction
    return Simulated(
        job=job,
        episode=_as_logged(world, episode, is_scan=job.is_scan),
        is_kept=_kept(world, job, len(episode.times_s)),
        history=history,
        initial_condition=condition,
        object_poses=poses.wxyz_xyz,
        log=robot.physics.log(episode.times_s),
        swept_friction=float(np.mean(swept)) if swept else float("nan"),
        events=tuple(policy.event_times_s) if isinstance(policy, HandoverOperator) else (),
        is_success=judge(task, episode.times_s, {name: poses}),
    )


def _setting(world: World, job: EpisodeJob) -> tuple[Policy, Task, InitialCondition]:
    if job.is_scan:
        scanner = scan_operator(world)
        return scanner, _shortened(scan_task(world), job.seconds), scan_condition(world, scanner)
    task = _shortened(world.task, job.seconds or world.scenario.recorded_s)
    return world.operator(job.episode), task, world.initial_condition(job.episode)


def _shortened(task: Task, seconds: float) -> Task:
    return replace(task, time_limit_s=min(task.time_limit_s, seconds)) if seconds else task


def _as_logged(world: World, episode: Episode, *, is_scan: bool) -> Episode:
    """The log has one kind of action; where it is tip displacements, a scan's joint targets are told as those."""
    if not is_scan or world.scenario.action_names == world.machine.joint_names:
        return replace(episode, object_poses={})
    (arm,) = world.machine.arms
    tips = np.array([world.kinematics.forward(arm, q).translation[:2] for q in episode.actions])
    before = world.kinematics.forward(arm, episode.joint_positions[0]).translation[:2]
    return replace(episode, actions=np.diff(tips, axis=0, prepend=before[None]), object_poses={})


def _kept(world: World, job: EpisodeJob, count: int) -> Bool[np.ndarray, " t"]:
    """Which samples the recorder keeps; the first and the last always."""
    rng = stream_rng(world.config.seed, Stream.SENSORS, job.episode, 1)
    kept = rng.uniform(size=count) >= world.config.imperfections.dropped_frames
    kept[[0, -1]] = True
    return kept
