import numpy as np

from gemel.services.sim.led_servos import feed_forward, led_model, servo_leads
from gemel.services.sim.native import SimulatorNative
from services.sim.made_scenes import scene, servo_arm


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


def test_a_led_robot_moves_as_before_and_does_not_give_way() -> None:
    """It follows the same path, and the same load bends it 300 times less."""
    import mujoco

    model = servo_arm()
    led = led_model(model)
    assert np.allclose(servo_leads(led, 1, {})["robot/hinge/lead"], servo_leads(model, 1, {})["robot/hinge/lead"])
    bends = []
    for each in (model, led):
        data = mujoco.MjData(each)
        data.qfrc_applied[0] = 3.0
        mujoco.mj_step(each, data, nstep=2000)
        bends.append(float(data.qpos[0]))
    assert np.allclose(bends, [3.0 / 300.0, 3.0 / 300.0 / 300.0], rtol=1e-3)
    path = 0.1 * np.sin(np.arange(100)[:, None] * np.array([0.06, 0.04]))
    ways = []
    for each in (model, led):
        simulator, leads = SimulatorNative(each, 1, threads=1), feed_forward(each)
        simulator.set_parameters(list(leads), np.array([list(leads.values())]))
        simulator.reset(np.zeros((1, 2)), commands=path[:1])
        ways.append(simulator.rollout(path[None, 1:], every=10, is_ramp=True).qpos[0])
    assert np.abs(ways[1] - ways[0]).max() < 1e-3
    assert np.abs(ways[1] - path[1:]).max() < 2e-3


def test_grippers_close_as_they_did() -> None:
    """A led gripper would crush what the log says it holds."""
    model = scene(
        '<body name="finger"><joint name="finger_slide" type="slide" axis="1 0 0"/>'
        '<geom type="box" size="0.01 0.01 0.01" mass="0.1"/></body>',
        rest='<actuator><position joint="finger_slide" kp="100" kv="10"/></actuator>',
    )
    assert led_model(model).actuator_gainprm[0, 0] == 100.0
