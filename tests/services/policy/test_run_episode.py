"""Running a policy on a robot: chunks, times, outcomes, and refusals before anything moves."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from gemel.artifacts.capture import Domain
from gemel.artifacts.task import Criterion, Quantity, Task
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.services.policy import Observation, PolicySpec, judge, run_episode
from gemel.services.policy.outcome import wrapped, yaw_of
from gemel.services.policy.site import Site
from gemel.services.policy.watched_robot import WatchedRobot

TASK = Task(
    name="line",
    instruction="go to one",
    control_period_s=0.5,
    time_limit_s=3.0,
    observation=(),
    action=(Quantity("step", 1, "m", -1.0, 1.0),),
    goal={"object/x": 1.0, "object/y": 0.0, "object/yaw": 0.0},
    success=(Criterion("object/position_error", "m", 0.01), Criterion("object/yaw_error", "rad", 0.1)),
    failure=(),
    reward_weights={},
    events=(),
    initial_conditions={"object/x": (0.0, 0.4)},
    objects=("thing",),
)


class Rail:
    """A robot whose only joint is where its object is."""

    domain = Domain.REAL
    joint_names = ("slide",)
    action_names = ("step",)

    def __init__(self) -> None:
        self.x, self.time_s, self.resets = 0.0, 0.0, 0

    def reset(self, initial_condition: Mapping[str, float]) -> None:
        self.x, self.time_s, self.resets = initial_condition["object/x"], 0.0, self.resets + 1

    def observe(self) -> Observation:
        pose = SE3(SO3.identity(), np.array([self.x, 0.0, 0.0]))
        return Observation(self.time_s, np.array([self.x]), object_poses={"thing": pose})

    def act(self, action: np.ndarray) -> None:
        self.x += float(action[0])
        self.time_s += 0.5


class PlacedRail(Rail):
    """The same, on a stand."""

    site = Site(bases_xy=np.array([[1.0, 0.0]]))


class Chunks:
    """A policy that hands out two steps at a time."""

    specification = PolicySpec("chunks", ("step",))

    def __init__(self, step: float) -> None:
        self.step, self.calls = step, 0

    def reset(self) -> None:
        self.calls = 0

    def act(self, observation: Observation) -> np.ndarray:
        self.calls += 1
        return np.full((2, 1), self.step)


def test_a_chunk_is_used_up_before_the_policy_is_asked_again() -> None:
    """Six steps in chunks of two ask three times; observations come before the actions they led to."""
    policy = Chunks(0.2)
    episode = run_episode(Rail(), policy, TASK, initial_condition={"object/x": 0.0})
    assert policy.calls == 3
    np.testing.assert_allclose(episode.times_s, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    np.testing.assert_allclose(episode.joint_positions[:, 0], 0.2 * np.arange(6))
    assert episode.domain is Domain.REAL


@pytest.mark.parametrize(("step", "expected"), [(0.2, True), (0.1, False)])
def test_success_is_judged_at_the_last_step(step: float, expected: bool) -> None:
    """Reaching the goal at the end is success, anything else is not."""
    assert run_episode(Rail(), Chunks(step), TASK, initial_condition={"object/x": 0.0}).is_success is expected


def test_a_robot_that_says_where_it_stands_is_judged_there() -> None:
    """Two metres from the world's origin and one from the base, also when somebody watches it."""
    near = replace(TASK, success=(Criterion("object/distance_from_base", "m", 1.1),))
    assert run_episode(Rail(), Chunks(0.4), near, initial_condition={"object/x": 0.0}).is_success is False
    robot = WatchedRobot(PlacedRail())
    assert run_episode(robot, Chunks(0.4), near, initial_condition={"object/x": 0.0}).is_success is True


def test_without_an_initial_condition_the_middle_of_the_ranges_is_used() -> None:
    """A task can be run without choosing where to start."""
    assert run_episode(Rail(), Chunks(0.0), TASK).joint_positions[0, 0] == pytest.approx(0.2)


def test_a_policy_for_another_robot_is_refused_before_anything_moves() -> None:
    """The names of the actions have to agree."""
    policy, robot = Chunks(0.1), Rail()
    policy.specification = PolicySpec("other", ("torque",))
    with pytest.raises(ConfigError, match="torque"):
        run_episode(robot, policy, TASK)
    assert robot.resets == 0


def test_actions_that_are_not_finite_never_reach_the_robot() -> None:
    """NaN is refused with the shape that was given."""
    with pytest.raises(ConfigError, match="not finite"):
        run_episode(Rail(), Chunks(float("nan")), TASK)


def test_the_outcome_is_unknown_where_nothing_was_tracked() -> None:
    """Without object poses nobody can say how it went."""
    assert judge(TASK, np.arange(3.0), {}) is None


def test_angles_wrap_and_yaw_reads_back() -> None:
    """Yaw of a turn about z is that turn, in [-pi, pi)."""
    angles = np.linspace(-9.0, 9.0, 31)
    turned = SE3(SO3.exp(angles[:, None] * np.array([0.0, 0.0, 1.0])), np.zeros(3))
    np.testing.assert_allclose(yaw_of(turned), wrapped(angles), atol=1e-12)
