"""A world behind the `Robot` protocol: the same with and without pictures, wrong in the ways that it says."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.artifacts.capture import Domain
from gemel.errors import ConfigError
from gemel.services.policy import Robot
from gemel.worlds.imperfections import Imperfections
from gemel.worlds.scenario import World, WorldConfig
from gemel.worlds.world_robot import WorldRobot

SMALL = WorldConfig("push-t", seed=5, size=(32, 24), sample_count=2)


def _run(robot: Robot, world: World, steps: int) -> np.ndarray:
    robot.reset(world.initial_condition(1))
    rows = []
    for _ in range(steps):
        rows.append(robot.observe().joint_positions)
        robot.act(np.array([0.01, 0.0]))
    return np.array(rows)


def test_rendering_changes_nothing_but_the_pictures() -> None:
    """The readings of a run with cameras equal those of a run without, to the last bit."""
    world = World(SMALL)
    blind = _run(WorldRobot(world, is_rendering=False), world, 4)
    seeing = _run(WorldRobot(world, is_rendering=True), world, 4)
    np.testing.assert_array_equal(blind, seeing)


def test_observations_have_a_picture_from_every_camera() -> None:
    """Closed loop with rendering: one RGB image of the asked size for each camera, not black and not white."""
    world = World(SMALL)
    robot = WorldRobot(world)
    robot.reset(world.initial_condition(1))
    images = robot.observe().images
    assert set(images) == {"front", "side", "wrist"}
    assert all(image.shape == (24, 32, 3) and 20 < image.mean() < 235 for image in images.values())
    assert robot.domain is Domain.STAND_IN


def test_readings_are_off_by_the_hidden_offsets() -> None:
    """At rest, reading minus truth is the constant offset of each joint, up to the encoder's noise."""
    world = World(SMALL)
    robot = WorldRobot(world, is_rendering=False)
    robot.reset(world.initial_condition(1))
    readings = np.mean([robot.observe().joint_positions for _ in range(50)], axis=0)
    np.testing.assert_allclose(readings - robot.physics.joint_positions, world.hidden.joint_offsets, atol=3e-4)


def test_the_arm_starts_where_its_encoders_say() -> None:
    """A reset drives the arm by its encoders, so the start of a log does not give the offsets away."""
    worlds = [World(replace(SMALL, seed=seed)) for seed in (5, 6)]
    condition = worlds[0].initial_condition(1)
    starts = []
    for world in worlds:
        robot = WorldRobot(world, is_rendering=False)
        robot.reset(condition)
        starts.append(np.mean([robot.observe().joint_positions for _ in range(50)], axis=0))
    np.testing.assert_allclose(starts[0], starts[1], atol=2e-3)


def test_a_tracker_is_only_there_when_asked_for() -> None:
    """Object poses are not part of a robot's observations by default."""
    world = World(SMALL)
    for has_tracker in (False, True):
        robot = WorldRobot(world, is_rendering=False, has_tracker=has_tracker)
        robot.reset(world.initial_condition(1))
        assert bool(robot.observe().object_poses) is has_tracker


def test_commands_act_one_lag_later() -> None:
    """With the lag off the tip moves within the first control period; with it on, only after it."""
    moved = []
    for lag_s in (0.0, 0.1):
        world = World(replace(SMALL, imperfections=replace(Imperfections.none(), actuator_lag_s=lag_s)))
        robot = WorldRobot(world, is_rendering=False)
        robot.reset(world.initial_condition(1))
        before = robot.physics.joint_positions
        robot.act(np.array([0.02, 0.0]))
        moved.append(float(np.abs(robot.physics.joint_positions - before).max()))
    assert moved[0] > 0.01
    assert moved[1] < 0.1 * moved[0]


def test_actions_out_of_range_are_clipped() -> None:
    """A metre asked for is two centimetres given."""
    world = World(replace(SMALL, imperfections=Imperfections.none()))
    tips = []
    for size in (0.02, 1.0):
        robot = WorldRobot(world, is_rendering=False)
        robot.reset(world.initial_condition(1))
        robot.act(np.array([size, 0.0]))
        tips.append(robot.physics.joint_positions)
    np.testing.assert_allclose(tips[0], tips[1], atol=1e-9)


def test_unknown_worlds_and_misplaced_objects_are_refused() -> None:
    """Typing errors get a suggestion; only a scan takes an object."""
    with pytest.raises(ConfigError, match="Closest: 'handover'"):
        World(WorldConfig("handovr"))
    with pytest.raises(ConfigError, match="has its own object"):
        World(WorldConfig("push-t", object="mug"))
