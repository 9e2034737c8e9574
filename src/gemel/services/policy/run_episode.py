"""One trial: a policy on a robot, until the task's time is up."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from gemel.artifacts.capture import EpisodeKind
from gemel.artifacts.episode import Episode
from gemel.artifacts.task import Task
from gemel.errors import ConfigError
from gemel.geometry import SE3, stack
from gemel.services.policy.outcome import judge
from gemel.services.policy.policy import Policy
from gemel.services.policy.robot import InitialCondition, Observation, Robot
from gemel.services.policy.site import site_of


@dataclass
class _Log:
    """What has happened so far."""

    observations: list[Observation] = field(default_factory=list)
    actions: list[Float[np.ndarray, " action"]] = field(default_factory=list)


def run_episode(
    robot: Robot,
    policy: Policy,
    task: Task,
    *,
    initial_condition: InitialCondition | None = None,
    episode_id: str = "0",
    kind: EpisodeKind = EpisodeKind.TASK,
) -> Episode:
    """Run the policy for the task's time limit and return what the sensors said.

    Without an initial condition the middle of each of the task's ranges is used.
    """
    _check_fit(robot, policy)
    middle = {name: 0.5 * (low + high) for name, (low, high) in task.initial_conditions.items()}
    robot.reset(middle if initial_condition is None else initial_condition)
    policy.reset()
    log, chunk = _Log(), np.zeros((0, len(robot.action_names)))
    for _ in range(round(task.time_limit_s / task.control_period_s)):
        observation = robot.observe()
        if not len(chunk):
            chunk = _checked_chunk(policy.act(observation), robot)
        log.observations.append(observation)
        log.actions.append(chunk[0])
        robot.act(chunk[0])
        chunk = chunk[1:]
    return _episode(log, robot, task, episode_id, kind)


def _episode(log: _Log, robot: Robot, task: Task, episode_id: str, kind: EpisodeKind) -> Episode:
    times_s = np.array([observation.time_s for observation in log.observations])
    poses = _object_poses(log.observations)
    return Episode(
        id=episode_id,
        kind=kind,
        domain=robot.domain,
        task=task.instruction,
        times_s=times_s,
        joint_positions=np.stack([observation.joint_positions for observation in log.observations]),
        actions=np.stack(log.actions),
        is_success=judge(task, times_s, poses, site_of(robot)),
        object_poses=poses,
    )


def _object_poses(observations: list[Observation]) -> dict[str, SE3]:
    """Poses over time of the objects that every observation has."""
    names = set(observations[0].object_poses).intersection(*(o.object_poses for o in observations))
    return {name: stack([o.object_poses[name] for o in observations]) for name in sorted(names)}


def _check_fit(robot: Robot, policy: Policy) -> None:
    spec = policy.specification
    if spec.action_names != robot.action_names:
        raise ConfigError(
            f"Policy {spec.name!r} gives the actions {list(spec.action_names)}; "
            f"the robot takes {list(robot.action_names)}.",
            remedy="use a policy that was made for this robot and task",
        )


def _checked_chunk(chunk: Float[np.ndarray, "chunk action"], robot: Robot) -> Float[np.ndarray, "chunk action"]:
    chunk = np.asarray(chunk, dtype=np.float64)
    width = len(robot.action_names)
    if chunk.ndim != 2 or chunk.shape[1] != width or not len(chunk) or not np.isfinite(chunk).all():
        raise ConfigError(
            f"A policy returned actions of shape {chunk.shape} with "
            f"{int(np.sum(~np.isfinite(chunk)))} values that are not finite; (at least 1, {width}) was expected.",
            remedy="check the policy's output; nothing was sent to the robot",
        )
    return chunk
