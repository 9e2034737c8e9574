"""Delay, play and lead do to commands what they say."""

import numpy as np

from gemel.services.sim.drives import Drives, DriveSettings
from gemel.services.sim.native import SimulatorNative
from services.sim.made_scenes import servo_arm


def _drives(delay_s: float = 0.0, backlash: float = 0.0, lead_s: float = 0.0) -> Drives:
    settings = DriveSettings(np.array([[delay_s]]), np.array([[backlash]]), np.array([[lead_s]]))
    return Drives(settings, 0.01)


def test_delay_shifts_motion() -> None:
    """With a delay of n steps a joint does the same n steps later."""
    simulator = SimulatorNative(servo_arm(), 2)
    simulator.set_parameters(("robot/hinge/delay",), np.array([[0.0], [0.03]]))
    simulator.reset(np.zeros((1, 2)))
    commands = np.zeros((1, 100, 2))
    commands[:, 10:, 0] = 0.3
    hinge = simulator.rollout(commands, every=1).qpos[:, :, 0]
    np.testing.assert_allclose(hinge[1, 15:], hinge[0, :-15], atol=1e-12)
    assert hinge[0, -1] > 0.2


def test_delay_between_steps_is_interpolated() -> None:
    """A delay of 1.25 steps is a quarter of the way from one step to two, so that effects are smooth in it."""
    out = _drives(delay_s=0.0125).pass_on(np.array([[[0.0], [1.0], [1.0], [1.0]]]), every=1, is_ramp=False)
    np.testing.assert_allclose(out[0, :, 0], [0.0, 0.0, 0.75, 1.0])


def test_commands_before_the_reset_arrive_first() -> None:
    """What was on its way before the start is what the drives had been holding."""
    simulator = SimulatorNative(servo_arm(), 1)
    simulator.set_parameters(("robot/hinge/delay",), np.array([[0.1]]))
    simulator.reset(np.array([[0.4, 0.0]]))
    at_rest = simulator.rollout(np.zeros((1, 40, 2)), every=1).qpos[0, :, 0]
    np.testing.assert_allclose(at_rest, 0.4, atol=1e-9)
    simulator.reset(np.array([[0.4, 0.0]]), commands=np.array([[0.0, 0.0]]))
    assert simulator.rollout(np.zeros((1, 40, 2)), every=1).qpos[0, -1, 0] < 0.35


def test_play_is_a_hysteresis_of_its_own_width() -> None:
    """Going up the target trails by half the play, coming down it leads by as much, and a small move moves nothing."""
    up = np.linspace(0.0, 1.0, 11)
    commands = np.concatenate([up, up[::-1], [0.04, 0.08]])
    out = _drives(backlash=0.05).pass_on(commands[None, :, None], every=1, is_ramp=False)[0, :, 0]
    np.testing.assert_allclose(out[2:11], up[2:] - 0.05)
    np.testing.assert_allclose(out[12:22], up[::-1][1:] + 0.05)
    np.testing.assert_allclose(out[22:], [0.05, 0.05])


def test_play_reaches_the_joint() -> None:
    """A joint that is sent up and a joint that is sent down to the same place rest two half plays apart."""
    simulator = SimulatorNative(servo_arm(), 2)
    simulator.set_parameters(("robot/hinge/backlash",), np.full((2, 1), 0.02))
    simulator.reset(np.array([[0.0, 0.0], [0.5, 0.0]]))
    end = simulator.rollout(np.repeat(np.array([[[0.25, 0.0]]]), 400, axis=1), every=2).qpos[:, -1, 0]
    np.testing.assert_allclose(end, [0.23, 0.27], atol=1e-4)


def test_ramp_reaches_the_command_at_the_end_of_its_period() -> None:
    """A ramp goes in equal steps from the command before."""
    out = _drives().pass_on(np.array([[[1.0], [2.0]]]), every=4, is_ramp=True)
    np.testing.assert_allclose(out[0, :, 0], np.arange(1, 9) / 4)


def test_lead_takes_away_the_lag_of_a_damped_servo() -> None:
    """A servo trails a ramp by kv / kp; as much lead brings it onto the ramp."""
    simulator = SimulatorNative(servo_arm(), 2)
    simulator.set_parameters(("robot/hinge/lead", "robot/hinge/damping"), np.array([[0.0, 0.0], [20.0 / 300.0, 0.0]]))
    simulator.reset(np.zeros((1, 2)))
    ramp = np.zeros((1, 200, 2))
    ramp[0, :, 0] = np.linspace(0.01, 2.0, 200)
    hinge = simulator.rollout(ramp, every=10, is_ramp=True).qpos[:, :, 0]
    slope_per_s = 0.01 / 0.02
    np.testing.assert_allclose(ramp[0, -1, 0] - hinge[0, -1], slope_per_s * 20.0 / 300.0, rtol=0.1)
    assert abs(ramp[0, -1, 0] - hinge[1, -1]) < 0.1 * slope_per_s * 20.0 / 300.0
