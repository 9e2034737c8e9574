"""Noise of sensors: drawn once a period, in what is observed and in nothing else."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gemel.services.policy.nominal_arena import nominal_arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.randomisation import Randomisation
from gemel.services.policy.twin_robot import TwinRobot
from gemel.services.sim.native import SimulatorNative

ARENA = nominal_arena()
QUIET = Randomisation.none()


def begun(count: int = 1, **noise: Any) -> Playground:
    """Simulations with the given noise and nothing else that is drawn, at the start of an episode."""
    ground = Playground(
        ARENA, SimulatorNative(ARENA.model, count, threads=1), randomisation=replace(QUIET, **noise), seed=1
    )
    ground.reset(np.arange(count))
    return ground


def test_readings_are_drawn_once_a_period() -> None:
    """Asked twice, encoders say the same; a period later they say something else."""
    ground = begun(2, joint_noise_rad=0.001)
    first = ground.readings()
    np.testing.assert_array_equal(ground.readings(), first)
    ground.step(np.zeros((2, 2)))
    assert np.all(ground.readings() != first)


def test_observed_tips_come_from_the_same_readings_and_true_ones_do_not() -> None:
    ground = begun(400, joint_noise_rad=0.001)
    assert ARENA.arm is not None
    tips = ARENA.arm.tips(ground.readings())
    seen, true = ground.seen_values(), ground.values()
    np.testing.assert_array_equal(np.stack([seen["tip/x"], seen["tip/y"]], axis=1), tips)
    assert np.std(seen["tip/x"] - true["tip/x"]) == pytest.approx(0.001, rel=0.15)
    np.testing.assert_array_equal(true["tip/x"], ARENA.readings(ground.qpos)[:, 0])
    np.testing.assert_array_equal(seen["object/x"], true["object/x"])


def test_the_observed_object_is_off_by_what_trackers_are() -> None:
    """x, y and yaw by the deviations that are asked for; a robot's tracker says what observations say."""
    ground = begun(400, object_noise_m=0.0008, object_noise_rad=0.006)
    seen, true = ground.seen_values(), ground.values()
    for name, sigma in (("x", 0.0008), ("y", 0.0008), ("yaw", 0.006)):
        errors = (seen[f"object/{name}"] - true[f"object/{name}"] + np.pi) % (2.0 * np.pi) - np.pi
        assert np.std(errors) == pytest.approx(sigma, rel=0.15)
    assert np.all(np.abs(seen["object/yaw"]) <= np.pi)
    poses = ground.seen_poses()
    np.testing.assert_array_equal(poses.translation[:, 0], seen["object/x"])
    axis = poses.rotation.as_matrix()[:, :2, 0]
    np.testing.assert_allclose(np.exp(1j * seen["object/yaw"]), axis[:, 0] + 1j * axis[:, 1], atol=1e-9)
    np.testing.assert_array_equal(ground.seen_values()["object/x"], seen["object/x"])


def test_an_episode_that_begins_leaves_the_readings_of_the_others() -> None:
    ground = begun(3, joint_noise_rad=0.001, object_noise_m=0.001)
    readings, seen = ground.readings(), ground.seen_values()
    kept = readings.copy()
    ground.reset(np.array([1]))
    assert (ground.readings() == kept).all(axis=1).tolist() == [True, False, True]
    assert (ground.seen_values()["object/x"] == seen["object/x"]).tolist() == [True, False, True]
    np.testing.assert_array_equal(readings, kept)  # nothing that was handed out is written to


def test_a_robot_that_is_observed_twice_says_the_same() -> None:
    robot = TwinRobot(begun(joint_noise_rad=0.001, object_noise_m=0.001))
    first, second = robot.observe(), robot.observe()
    np.testing.assert_array_equal(first.joint_positions, second.joint_positions)
    np.testing.assert_array_equal(first.object_poses["t_block"].translation, second.object_poses["t_block"].translation)
    assert np.all(first.joint_positions != ARENA.readings(robot.playground.qpos)[0])


def test_without_noise_what_is_seen_is_what_is() -> None:
    ground = begun(2)
    for name, values in ground.values().items():
        np.testing.assert_array_equal(ground.seen_values()[name], values)
