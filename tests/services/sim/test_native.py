"""The native simulator is MuJoCo, many times over."""

import time

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.services.sim import native
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.simulator import Simulator
from services.sim.made_scenes import box_on_table, servo_arm


def _commands(count: int, steps: int, seed: int = 0) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).normal(0.0, 0.03, (count, steps, 2)), axis=1)


def test_it_is_a_simulator() -> None:
    """It keeps the protocol that stages ask for."""
    assert isinstance(SimulatorNative(servo_arm(), 1), Simulator)


def test_batch_equals_single_runs() -> None:
    """Each simulation is bit for bit what MuJoCo alone makes of its model and commands."""
    import mujoco

    simulator = SimulatorNative(servo_arm(), 3)
    names = ("robot/hinge/gain", "object/lower/mass", "robot/slide/coulomb", "object/upper/com_y")
    values = np.array([[200.0, 0.2, 0.0, 0.0], [300.0, 0.5, 0.3, 0.02], [400.0, 0.3, 0.1, -0.01]])
    simulator.set_parameters(names, values)
    commands = _commands(3, 20)
    simulator.reset(np.zeros((1, 2)))
    rollout = simulator.rollout(commands, every=7)
    for sim in range(3):
        model = simulator._batch.get_model(sim)
        data = mujoco.MjData(model)
        for t in range(20):
            data.ctrl[:] = commands[sim, t]
            mujoco.mj_step(model, data, nstep=7)
            np.testing.assert_array_equal(rollout.qpos[sim, t], data.qpos)
            np.testing.assert_array_equal(rollout.qvel[sim, t], data.qvel)


def test_one_rollout_equals_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cutting a rollout, by the caller or to save memory, changes nothing, delays and play included."""
    commands = _commands(2, 24)

    def run(pieces: int, record_bytes: float) -> np.ndarray:
        monkeypatch.setattr(native, "_RECORD_BYTES", record_bytes)
        simulator = SimulatorNative(servo_arm(), 2)
        simulator.set_parameters(
            ("robot/hinge/delay", "robot/slide/backlash", "robot/hinge/lead"),
            np.array([[0.013, 0.01, 0.02], [0.0347, 0.02, 0.0]]),
        )
        simulator.reset(np.zeros((1, 2)))
        parts = np.split(commands, pieces, axis=1)
        return np.concatenate([simulator.rollout(part, every=5, is_ramp=True).qpos for part in parts], axis=1)

    whole = run(1, 64e6)
    np.testing.assert_allclose(whole, run(24, 64e6), atol=1e-12)
    np.testing.assert_allclose(whole, run(3, 1e3), atol=1e-12)


def test_commands_of_one_row_serve_all() -> None:
    """One row of commands is the same as equal rows."""
    simulator = SimulatorNative(servo_arm(), 3)
    one = _commands(1, 10)
    simulator.reset(np.zeros((1, 2)))
    first = simulator.rollout(one, every=3).qpos
    simulator.reset(np.zeros((1, 2)))
    np.testing.assert_array_equal(first, simulator.rollout(np.repeat(one, 3, axis=0), every=3).qpos)


def test_poses_from_joint_values_are_mujocos() -> None:
    """Poses of links and of free bodies are those of mj_kinematics."""
    import mujoco

    rng = np.random.default_rng(1)
    for model, body in ((servo_arm(), "lower"), (box_on_table(), "block")):
        qpos = rng.normal(size=(4, model.nq))
        if body == "block":
            qpos[:, 3:] /= np.linalg.norm(qpos[:, 3:], axis=1, keepdims=True)
        poses = SimulatorNative(model, 1).body_poses(body, qpos)
        data = mujoco.MjData(model)
        for i in range(4):
            data.qpos[:] = qpos[i]
            mujoco.mj_kinematics(model, data)
            np.testing.assert_allclose(poses[i].translation, data.body(body).xpos, atol=1e-12)
            np.testing.assert_allclose(poses[i].rotation.as_matrix().ravel(), data.body(body).xmat, atol=1e-12)


def test_divergence_is_flagged_and_does_not_spread() -> None:
    """A simulation that breaks down is named; the others are as if it were not there."""
    simulator = SimulatorNative(box_on_table(), 3)
    start = np.repeat(simulator.model.qpos0[None], 3, axis=0)
    velocity = np.zeros((3, 6))
    velocity[1, 0] = 1e12
    simulator.reset(start, velocity)
    rollout = simulator.rollout(np.zeros((1, 4, 0)), every=20)
    assert rollout.is_diverged.tolist() == [False, True, False]
    np.testing.assert_array_equal(rollout.qpos[0], rollout.qpos[2])
    simulator.reset(start)
    again = simulator.rollout(np.zeros((1, 4, 0)), every=20)
    assert not again.is_diverged.any()
    np.testing.assert_array_equal(again.qpos[1], rollout.qpos[0])


def test_an_explosion_is_divergence() -> None:
    """A box faster than anything falls has been thrown out by the solver: finite numbers, and still useless."""
    simulator = SimulatorNative(box_on_table(), 2)
    start = np.repeat(simulator.model.qpos0[None], 2, axis=0)
    simulator.reset(start, np.array([[0.0, 0, 0, 0, 0, 0], [0.0, 0, 40.0, 0, 0, 0]]))
    assert simulator.rollout(np.zeros((1, 1, 0)), every=10).is_diverged.tolist() == [False, True]


def test_wrong_shapes_say_what_was_expected() -> None:
    """Errors name both shapes."""
    simulator = SimulatorNative(servo_arm(), 3)
    with pytest.raises(ConfigError, match=r"\(2, 5, 2\)"):
        simulator.rollout(np.zeros((2, 5, 2)), every=2)
    with pytest.raises(ConfigError, match="2 rows"):
        simulator.set_parameters(("robot/hinge/gain",), np.ones((2, 1)))
    with pytest.raises(ConfigError, match="positions"):
        simulator.reset(np.zeros((1, 3)))


def test_speed_is_that_of_mujoco_itself() -> None:
    """Rollouts lose little to raw `mujoco.batch` on the same model; the bound is loose, machines are shared."""
    from mujoco import batch

    simulator = SimulatorNative(box_on_table(), 64, threads=1)
    raw = batch.Batch(simulator.model, 64, 1)
    ours, theirs = [], []
    for _ in range(5):
        simulator.reset(simulator.model.qpos0[None])
        started = time.perf_counter()
        simulator.rollout(np.zeros((1, 10, 0)), every=20)
        ours.append(time.perf_counter() - started)
        raw.reset()
        started = time.perf_counter()
        for _ in range(10):
            raw.step(nstep=20)
        theirs.append(time.perf_counter() - started)
    assert min(theirs) / min(ours) > 0.6
