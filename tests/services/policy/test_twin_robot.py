"""A twin behind Robot: it moves as told, pushes what it meets, and its episodes are datasets like any other."""

from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.capture import Domain
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.services.formats.lerobot_recorder import Recorder, RobotNotes
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.formats.source import open_source
from gemel.services.kinematics.chain import Chain
from gemel.services.policy import Observation, PolicySpec, Robot, run_episode
from gemel.services.policy.task_frame import task_frame
from gemel.services.policy.twin_robot import TwinRobot, make_twin_robot
from gemel.services.policy.watched_robot import WatchedRobot
from gemel.services.tasks import get_object, get_task
from gemel.store.store import Store
from services.sim.made_twin import block_twin, sample_robot, splat_mesh

HOME = np.array([0.64, 0.75, 1.63, 0.0, 0.76, 0.64])
TASK = get_task("push-t")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Twin, Store]:
    store = Store(tmp_path_factory.mktemp("store"))
    return block_twin(store, {"contact/t_block-table/friction": (0.4, 0.6)}, robot=sample_robot(store)), store


@pytest.fixture
def robot(made: tuple[Twin, Store]) -> TwinRobot:
    return make_twin_robot(*made, task=TASK, home=HOME)


class Push:
    """Goes for the object, 2 cm at a time."""

    specification = PolicySpec("push", ("tip_x", "tip_y"))

    def __init__(self, robot: TwinRobot) -> None:
        self._robot = robot

    def reset(self) -> None:
        pass

    def act(self, observation: Observation) -> np.ndarray:
        arm = self._robot.arena.arm
        assert arm is not None
        towards = observation.object_poses["t_block"].translation[:2] - arm.tips(observation.joint_positions[None])[0]
        return 0.02 * towards[None] / np.linalg.norm(towards)


def test_the_arm_reaches_where_it_is_told(made: tuple[Twin, Store]) -> None:
    """Inverse kinematics: the tip is where it should be, the tool as upright as at home, for many arms at once."""
    twin, store = made
    assert twin.robot is not None
    chain = Chain.to_tip(compile_stored_robot(twin.robot, store))
    rng = np.random.default_rng(0)
    goal = np.repeat(chain.tip_poses(HOME[None]), 20, axis=0)
    goal[:, :2, 3] += rng.uniform(-0.08, 0.08, (20, 2))
    q = chain.solve(goal, np.repeat(HOME[None], 20, axis=0), iterations=40)
    np.testing.assert_allclose(chain.tip_poses(q), goal, atol=1e-4)


def test_a_task_frame_is_found_at_any_turn() -> None:
    """The nominal block's frame in a block that was scanned turned by some angle and off its middle."""
    block = get_object("t_block")
    for yaw in (-2.5, 0.3, 1.9):
        T_object_task = SE3(SO3.exp(np.array([0.0, 0.0, yaw])), np.array([0.012, -0.007, 0.001]))
        found = task_frame(splat_mesh(T_object_task @ block.vertices, block.faces), block)
        error = (found.inverse() @ T_object_task).log()
        assert np.abs(error[:3]).max() < 0.003
        assert np.abs(error[3:]).max() < 0.03


def test_an_episode_of_the_twin_is_an_episode(robot: TwinRobot) -> None:
    """It starts where it was asked to, in the task's frame; the pushed block moves; equal runs are equal."""
    from dataclasses import replace

    assert isinstance(robot, Robot)
    task = replace(TASK, time_limit_s=2.5)
    start = {"object/x": 0.45, "object/y": 0.05, "object/yaw": 0.7, "tip/x": 0.45, "tip/y": 0.32}
    first, again = (run_episode(robot, Push(robot), task, initial_condition=start) for _ in range(2))
    assert first.domain is Domain.TWIN
    assert first.joint_positions.shape == (25, 6)
    placed = first.object_poses["t_block"][0]
    np.testing.assert_allclose(placed.translation[:2], [0.45, 0.05], atol=1e-3)
    np.testing.assert_allclose(placed.rotation.log(), [0.0, 0.0, 0.7], atol=1e-2)
    arm = robot.arena.arm
    assert arm is not None
    tips = arm.tips(first.joint_positions)
    np.testing.assert_allclose(tips[0], [0.45, 0.32], atol=1e-3)
    assert first.object_poses["t_block"].translation[-1, 1] < 0.0
    np.testing.assert_array_equal(first.joint_positions, again.joint_positions)


def test_readings_to_start_from_win_over_a_place_of_the_tip(robot: TwinRobot) -> None:
    robot.reset({f"joint/{name}": value for name, value in zip(robot.joint_names, HOME, strict=True)})
    np.testing.assert_allclose(robot.observe().joint_positions, HOME)


def test_a_recording_is_a_dataset(robot: TwinRobot, tmp_path: Path) -> None:
    """Written as LeRobot v3.0 and read back: readings, actions and frames are those of the episode."""
    from dataclasses import replace

    watched = WatchedRobot(robot)
    episode = run_episode(watched, Push(robot), replace(TASK, time_limit_s=0.5))
    frames = {"front": [np.full((120, 160, 3), 40 * i, dtype=np.uint8) for i in range(5)]}
    folder = tmp_path / "set"
    with Recorder(folder, RobotNotes(watched.joint_names, watched.action_names, "twin"), fps=10.0) as recorder:
        recorder.add(episode, frames)
    source = open_source(folder)
    assert source is not None
    import pyarrow.parquet as pq

    table = pq.read_table(next((folder / "data").rglob("*.parquet"))).to_pydict()
    np.testing.assert_allclose(np.array(table["observation.state"]), episode.joint_positions, atol=1e-6)
    np.testing.assert_allclose(np.array(table["action"]), episode.actions, atol=1e-6)
    poses = np.array(table["observation.object_pose.t_block"])
    np.testing.assert_allclose(poses[:, :3], episode.object_poses["t_block"].translation, atol=1e-6)


def test_a_twin_without_task_or_robot_is_refused(made: tuple[Twin, Store]) -> None:
    """A thing that no push handles could be for any task."""
    from dataclasses import replace

    twin, store = made
    unknown = replace(twin, colliders={"thing": twin.colliders["t_block"]})
    with pytest.raises(ConfigError, match="no task"):
        make_twin_robot(unknown, store)
    with pytest.raises(ConfigError, match="no robot"):
        make_twin_robot(replace(twin, robot=None), store, task=TASK)


def test_a_task_about_another_object_is_refused(made: tuple[Twin, Store]) -> None:
    """A T-block is no hammer; only a thing that nobody has named may be what the task handles."""
    from gemel.services.tasks import get_task

    with pytest.raises(ConfigError, match="handles \\['hammer'\\]"):
        make_twin_robot(*made, task=get_task("push-hammer"), home=HOME)
