import numpy as np

from gemel.services.sim.led_servos import servo_leads
from gemel.services.sim.native import SimulatorNative
from services.sim.made_scenes import servo_arm


def test_a_led_servo_does_not_trail_its_path() -> None:
    """On a ramp, a servo trails by damping over gain times speed; with its lead it is where it is told to be."""
    model, speed, tick_s = servo_arm(), 0.5, 0.02
    path = np.stack([speed * tick_s * np.arange(101), np.zeros(101)], axis=1)
    ends = {}
    for is_led in (False, True):
        simulator = SimulatorNative(model, 1, threads=1)
        leads = servo_leads(model, 1, {})
        assert set(leads) == {"robot/hinge/lead", "robot/slide/lead"}
        if is_led:
            simulator.set_parameters(list(leads), np.stack(list(leads.values()), axis=1))
        simulator.reset(np.zeros((1, 2)), commands=path[:1])
        rollout = simulator.rollout(path[None, 1:], every=round(tick_s / simulator.timestep_s), is_ramp=True)
        ends[is_led] = float(path[-1, 0] - rollout.qpos[0, -1, 0])
    assert np.isclose(ends[False], speed * ((20.0 + 0.1) / 300.0 - model.opt.timestep), rtol=0.005)
    assert abs(ends[True]) < 1e-5


def test_leads_follow_the_gains_of_each_simulation() -> None:
    """A belief's own gain counts instead of the model's."""
    gains = np.array([300.0, 600.0])
    leads = servo_leads(servo_arm(), 2, {"robot/hinge/gain": gains})
    assert np.allclose(leads["robot/hinge/lead"] + 0.002, (20.0 + 0.1) / gains)
    assert np.allclose(leads["robot/slide/lead"] + 0.002, 40.0 / 800.0)
