"""Operators behave like people at a robot: they get somewhere, pause, overshoot and never do the same twice."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.services.policy import run_episode
from gemel.services.policy.outcome import measured
from gemel.worlds.kinematics import Kinematics
from gemel.worlds.scan import scan_condition, scan_operator, scan_place, scan_task
from gemel.worlds.scenario import World, WorldConfig
from gemel.worlds.simulate import EpisodeJob, simulate_episode
from gemel.worlds.world_robot import WorldRobot

pytestmark = pytest.mark.slow  # it records: seconds for every capture


def test_pushing_brings_the_block_nearer_and_differs_between_episodes() -> None:
    """Most episodes end nearer to the goal than they began; no two command the same; all of them pause."""
    world = World(WorldConfig("push-t", seed=3))
    task = replace(world.task, time_limit_s=7.0)
    nearer, actions = 0, []
    for episode in range(1, 5):
        robot = WorldRobot(world, episode=episode, is_rendering=False, has_tracker=True)
        condition = world.initial_condition(episode)
        result = run_episode(robot, world.operator(episode), task, initial_condition=condition)
        error = measured(task, result.times_s, result.object_poses["t_block"])["object/position_error"]
        nearer += bool(error[-1] < error[0] - 0.02)
        actions.append(result.actions)
        assert np.abs(result.actions).max() <= 0.02
        assert np.any(np.linalg.norm(result.actions, axis=1) < 0.002)
    assert nearer >= 3
    assert not any(np.allclose(a, b) for i, a in enumerate(actions) for b in actions[i + 1 :])


@pytest.mark.parametrize("seed", [3, 4])
def test_the_cube_is_handed_over(seed: int) -> None:
    """Picked, passed and placed within 5 cm, with the events in the contract's order."""
    simulated = simulate_episode(EpisodeJob(WorldConfig("handover", seed=seed), 1, is_scan=False))
    world = World(WorldConfig("handover", seed=seed))
    assert simulated.is_success
    assert tuple(name for name, _ in simulated.events) == world.task.events
    height = simulated.object_poses[:, 6]
    assert height.max() > 0.15
    assert simulated.log["tool_force"].max() > 1.0


@pytest.mark.parametrize(("name", "object_name"), [("scan", "mug"), ("push-t", ""), ("handover", "")])
def test_a_scan_sees_the_object_over_270_degrees_without_touching_it(name: str, object_name: str) -> None:
    """At least 26 views, 270 degrees of azimuth, 30 to 70 degrees of elevation; the object stays where it is."""
    world = World(WorldConfig(name, seed=1, object=object_name))
    operator = scan_operator(world)
    robot = WorldRobot(world, is_rendering=False, is_joint_controlled=True)
    condition = scan_condition(world, operator)
    episode = run_episode(robot, operator, scan_task(world), initial_condition=condition)
    history = robot.physics.history()
    model = world.scenario.model.name
    moved = history.pose(model, 99.0).translation - history.pose(model, 0.0).translation
    assert np.linalg.norm(moved) < 1e-3
    views = _views(world, episode.joint_positions)
    azimuth, elevation = views[:, 0], views[:, 1]
    assert len(views) >= 26
    assert np.all((elevation > 30.0) & (elevation < 70.0))
    covered = np.unique(np.floor(azimuth / 10.0))
    assert 10.0 * len(covered) >= 270.0


def _views(world: World, readings: np.ndarray) -> np.ndarray:
    """Azimuth and elevation [deg] of the wrist cameras as seen from the object. (view, 2)"""
    place = np.array([*scan_place(world), world.scenario.model.rest_height])
    kinematics, rows = Kinematics(world.machine), []
    for arm in world.machine.arms:
        camera = next(camera for camera in world.camera_guesses if camera.parent == arm.tool_link)
        for q in readings[:, world.machine.columns(arm)]:
            out = kinematics.forward(arm, q, T_link_frame=camera.T_parent_camera).translation - place
            level = np.hypot(out[0], out[1])
            rows.append((np.degrees(np.arctan2(out[1], out[0])) % 360.0, np.degrees(np.arctan2(out[2], level))))
    return np.array(rows)
