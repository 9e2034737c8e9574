"""Conservation laws where they hold, and contact that stays within stated bounds."""

from dataclasses import replace

import numpy as np
import pytest

from gemel.geometry import SE3, SO3
from gemel.services.policy import run_episode
from gemel.worlds.imperfections import Imperfections
from gemel.worlds.physics import Physics
from gemel.worlds.scenario import World, WorldConfig
from gemel.worlds.scene import object_inertia
from gemel.worlds.world_robot import WorldRobot

GRAVITY = 9.81
DEEPEST_M = 0.0015
"""Stated bound on how far bodies overlap in the pushing and handover worlds [m]."""
DEEPEST_IMPACT_M = 0.006
"""The same for a thrown cube at the moment of impact, at up to 3 m/s."""


def _physics(name: str, imperfections: Imperfections | None = None) -> tuple[World, Physics]:
    world = World(WorldConfig(name, seed=2, imperfections=imperfections or Imperfections.none()))
    period_s = world.task.control_period_s
    return world, Physics(
        world.machine, world.scenario.model, world.hidden, world.config.imperfections, period_s=period_s
    )


def test_a_free_flight_keeps_momentum_and_energy() -> None:
    """Before the impact: sideways momentum and spin's angular momentum are constant, g acts on z, energy is kept."""
    world, physics = _physics("toss")
    start = SE3(SO3.exp(np.array([0.3, -0.2, 0.5])), np.array([0.45, 0.0, 1.5]))
    velocity = np.array([0.4, -0.3, 1.0, 3.0, -2.0, 4.0])
    physics.reset(world.machine.home, start, velocity)
    inertia = object_inertia(world.scenario.model, world.hidden)

    def state() -> tuple[np.ndarray, np.ndarray, float]:
        v, w = physics.data.joint("big_cube").qvel[:3].copy(), physics.data.joint("big_cube").qvel[3:].copy()
        pose = physics.T_world_object
        energy = 0.5 * inertia.mass_kg * v @ v + 0.5 * w @ inertia.I_BBcm_B @ w
        energy += inertia.mass_kg * GRAVITY * pose.translation[2]
        return v, pose.rotation @ (inertia.I_BBcm_B @ w), float(energy)

    v0, spin0, energy0 = state()
    for _ in range(12):  # 0.4 s, still a metre above the board
        physics.advance()
    v1, spin1, energy1 = state()
    np.testing.assert_allclose(v1, v0 - np.array([0.0, 0.0, GRAVITY * physics.time_s]), atol=1e-6)
    np.testing.assert_allclose(spin1, spin0, atol=1e-3 * np.linalg.norm(spin0))
    assert energy1 == pytest.approx(energy0, rel=1e-3)


def test_a_toss_never_gains_energy() -> None:
    """From release to rest the energy only falls, up to the integrator's error, and the cube ends on a face."""
    world, _ = _physics("toss")
    robot = WorldRobot(world, episode=1, is_rendering=False)
    robot.reset(world.initial_condition(1))
    inertia, energies = object_inertia(world.scenario.model, world.hidden), []
    for _ in range(48):
        v, w = robot.physics.data.joint("big_cube").qvel[:3], robot.physics.data.joint("big_cube").qvel[3:]
        height = robot.physics.T_world_object.translation[2]
        energies.append(
            0.5 * inertia.mass_kg * v @ v + 0.5 * w @ inertia.I_BBcm_B @ w + inertia.mass_kg * GRAVITY * height
        )
        robot.physics.advance()
    assert np.max(np.diff(energies)) < 0.02 * energies[0]
    assert robot.physics.T_world_object.translation[2] == pytest.approx(0.05, abs=1e-3)


def test_at_rest_the_table_carries_exactly_the_weight() -> None:
    """An object that lies still has no net force on it and does not creep."""
    world, physics = _physics("push-t")
    physics.reset(world.machine.home, SE3(SO3.identity(), np.array([0.45, 0.1, 0.02])))
    physics.settle(10)
    before = physics.T_world_object
    for _ in range(10):
        physics.advance()
    mass = object_inertia(world.scenario.model, world.hidden).mass_kg
    normal = np.zeros(6)
    total = 0.0
    for i in range(physics.data.ncon):
        physics._mujoco.mj_contactForce(physics.model, physics.data, i, normal)
        total += normal[0]
    assert total == pytest.approx(mass * GRAVITY, rel=1e-3)
    assert np.linalg.norm(physics.T_world_object.translation - before.translation) < 1e-5


def test_pushing_does_not_push_through() -> None:
    """Through a whole operated episode nothing overlaps by more than the stated bound."""
    world = World(WorldConfig("push-t", seed=2))
    robot = WorldRobot(world, episode=1, is_rendering=False, has_tracker=True)
    task = replace(world.task, time_limit_s=7.0)
    episode = run_episode(robot, world.operator(1), task, initial_condition=world.initial_condition(1))
    depth = robot.physics.log(robot.physics.history().times_s)["penetration"]
    assert depth.max() < DEEPEST_M
    assert episode.object_poses["t_block"].translation[:, 2].max() < 0.03


def test_a_thrown_cube_stays_above_the_board() -> None:
    """Even at the impact the overlap is small against the cube."""
    world = World(WorldConfig("toss", seed=2))
    for episode in range(1, 4):
        robot = WorldRobot(world, episode=episode, is_rendering=False)
        robot.reset(world.initial_condition(episode))
        for _ in range(48):
            robot.physics.advance()
        depth = robot.physics.log(robot.physics.history().times_s)["penetration"]
        assert depth.max() < DEEPEST_IMPACT_M


def test_the_hidden_centre_of_mass_decides_which_way_the_block_turns() -> None:
    """The same push on the same place turns a bar-heavy block one way and a stem-heavy one the other."""
    turns = []
    for com_y in (-0.03, 0.07):
        world, _ = _physics("push-t")
        parameters = {**world.hidden.parameters, "object/t_block/com_y": com_y}
        world.__dict__["hidden"] = replace(world.hidden, parameters=parameters)
        robot = WorldRobot(world, is_rendering=False)
        place = {"object/x": 0.45, "object/y": 0.0, "object/yaw": 0.0, "tip/x": 0.45 - 0.06, "tip/y": 0.02}
        robot.reset(place)
        for _ in range(16):
            robot.act(np.array([0.008, 0.0]))
        turns.append(float(robot.physics.T_world_object.rotation.log()[2]))
    assert turns[0] * turns[1] < 0.0
    assert min(abs(turn) for turn in turns) > np.radians(5.0)


def test_true_friction_of_a_run_is_its_mean_over_the_swept_area() -> None:
    """What an episode felt lies within the field's spread about the drawn mean, and is not the mean itself."""
    world = World(WorldConfig("push-t", seed=2))
    robot = WorldRobot(world, episode=1, is_rendering=False, has_tracker=True)
    task = replace(world.task, time_limit_s=7.0)
    run_episode(robot, world.operator(1), task, initial_condition=world.initial_condition(1))
    felt = np.mean(robot.physics.swept_friction)
    mean = world.hidden.friction.mean
    assert 0.4 * mean < felt < 1.6 * mean
    assert felt != mean
