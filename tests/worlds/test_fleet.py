"""Many worlds in one batch are the same worlds."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.worlds.control import Control
from gemel.worlds.fleet import WorldFleet
from gemel.worlds.imperfections import Imperfections
from gemel.worlds.scenario import World, WorldConfig
from gemel.worlds.world_robot import WorldRobot

EVEN = Imperfections(friction_unevenness=0.0)


class _Told:
    """A controller that is told joint targets from outside."""

    targets_now: np.ndarray

    def start(self, readings: np.ndarray) -> None:
        """Nothing to remember."""

    def targets(self, action: np.ndarray, readings: np.ndarray) -> np.ndarray:
        """What it was told."""
        return self.targets_now


def test_a_fleet_is_its_worlds_to_the_last_bit() -> None:
    """On even tables, with the same joint targets, a world in a fleet and the same world alone push a block alike."""
    worlds = [World(WorldConfig("push-t", seed=seed, imperfections=EVEN)) for seed in (11, 12)]
    fleet = WorldFleet(worlds, threads=1)
    conditions = [world.initial_condition(0) for world in worlds]
    fleet.reset(conditions, 0)
    alone, control = WorldRobot(worlds[0], is_rendering=False), _Told()
    assert isinstance(control, Control)
    alone._control = control
    alone.reset(conditions[0])
    way = np.array([[c["object/x"], c["object/y"]] for c in conditions]) - fleet.tips(fleet.readings(is_quiet=True))
    way *= 0.018 / np.abs(way).max(axis=1, keepdims=True)
    for _ in range(24):
        fleet.act(way)
        control.targets_now = fleet._q[0]
        alone.act(way[0])
        np.testing.assert_array_equal(fleet.object_poses()[0, :2], alone.physics.T_world_object.translation[:2])
    assert np.linalg.norm(fleet.object_poses()[0, :2] - [conditions[0]["object/x"], conditions[0]["object/y"]]) > 0.02


def test_controllers_and_sensors_agree_with_the_robots() -> None:
    """Before anything is touched, tips and readings are those of `WorldRobot` within a hundredth of a millimetre."""
    world = World(WorldConfig("push-t", seed=11))
    fleet, robot = WorldFleet([world], threads=1), WorldRobot(world, is_rendering=False, has_tracker=True)
    condition = world.initial_condition(0)
    fleet.reset([condition], 0)
    robot.reset(condition)
    (arm,) = world.machine.arms
    for _ in range(6):
        fleet.act(np.array([[-0.01, 0.005]]))
        robot.act(np.array([-0.01, 0.005]))
    tip = world.kinematics.forward(arm, robot._readings(quiet=True)).translation[:2]
    np.testing.assert_allclose(fleet.tips(fleet.readings(is_quiet=True))[0], tip, atol=2e-5)


def test_truths_can_be_given_and_fleets_are_of_one_kind() -> None:
    """A given parameter replaces what was drawn and leaves the rest; unknown ones and mixed scenarios are refused."""
    config = WorldConfig("push-t", seed=4)
    drawn, given = World(config), World(config, given={"object/t_block/com_y": 0.061})
    assert given.hidden.parameters["object/t_block/com_y"] == 0.061
    assert given.hidden.parameters["object/t_block/mass"] == drawn.hidden.parameters["object/t_block/mass"]
    np.testing.assert_array_equal(given.hidden.joint_offsets, drawn.hidden.joint_offsets)
    slippery = World(config, given={"contact/t_block-table/friction": 0.31})
    assert slippery.hidden.friction.mean == 0.31
    with pytest.raises(ConfigError, match="has no parameter weight"):
        _ = World(config, given={"weight": 1.0}).hidden
    with pytest.raises(ConfigError, match="one scenario"):
        WorldFleet([drawn, World(replace(config, name="push-hammer"))])
