"""The small parts of a world: friction map, drive, kinematics, sensor, row times, history, hidden draws."""

from dataclasses import fields, replace

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3
from gemel.services.tasks import get_object, get_task
from gemel.worlds.cameras import push_rig
from gemel.worlds.control import DOWN
from gemel.worlds.drive import Drive
from gemel.worlds.friction import FrictionMap
from gemel.worlds.hidden import draw_hidden
from gemel.worlds.history import History
from gemel.worlds.imperfections import Imperfections
from gemel.worlds.kinematics import Kinematics
from gemel.worlds.machine import handover_machine, push_machine
from gemel.worlds.render import row_weights
from gemel.worlds.scene import object_inertia
from gemel.worlds.sensor import develop

NONE = Imperfections.none()


def test_none_switches_every_imperfection_off() -> None:
    """Each field is zero, or a limit far away; a negative one is refused with its name."""
    limits = {"speed_limit_rad_s", "torque_limit", "friction_patch_m", "object_spread"}
    values = {field.name: getattr(NONE, field.name) for field in fields(NONE)}
    assert all(np.all(np.asarray(value) == 0) for name, value in values.items() if name not in limits)
    with pytest.raises(ConfigError, match=r"Imperfections\.backlash_rad is -1"):
        Imperfections(backlash_rad=-1.0)


def test_uneven_friction_has_the_asked_mean_and_spread() -> None:
    """Over a wide table the field's mean and standard deviation are those asked for."""
    field = FrictionMap.random(np.random.default_rng(0), mean=0.5, unevenness=0.2, patch_m=0.05)
    values = field.at(np.random.default_rng(1).uniform(-20.0, 20.0, (40_000, 2)))
    assert values.mean() == pytest.approx(0.5, rel=0.02)
    assert values.std() / values.mean() == pytest.approx(0.2, rel=0.1)


def test_even_friction_is_the_same_everywhere() -> None:
    """Without unevenness the table has one coefficient."""
    field = FrictionMap.random(np.random.default_rng(0), mean=0.4, unevenness=0.0, patch_m=0.05)
    np.testing.assert_allclose(field.at(np.random.default_rng(1).uniform(-1.0, 1.0, (50, 2))), 0.4)


def _driven(imperfections: Imperfections, *, seconds: float = 1.0, target: float = 0.2) -> np.ndarray:
    """Link positions over time, for one joint that is told to move by `target` over the first 0.1 s. (t,)"""
    drive = Drive.at_rest(imperfections, np.array([False]), np.zeros(1))
    drive.command(np.array([target]), 0.0, 0.1)
    return np.array([drive.advance(0.001 * i, 0.001)[0][0] for i in range(round(1000 * seconds))])


def test_lag_is_a_pure_delay() -> None:
    """With lag the same motion comes later by exactly that time."""
    prompt, late = _driven(NONE), _driven(replace(NONE, actuator_lag_s=0.1))
    np.testing.assert_allclose(late[100:], prompt[:-100], atol=1e-12)
    np.testing.assert_allclose(late[:100], 0.0)


def test_saturation_limits_the_speed() -> None:
    """No step is faster than the limit, and the target is reached all the same."""
    moved = _driven(replace(NONE, speed_limit_rad_s=0.5))
    assert np.abs(np.diff(moved)).max() <= 0.5 * 0.001 + 1e-12
    assert moved[-1] == pytest.approx(0.2)


def test_backlash_loses_half_its_width_each_way() -> None:
    """A link with play stops half the width short, and a reversal first crosses the whole width."""
    imperfections = replace(NONE, backlash_rad=0.02)
    drive = Drive.at_rest(imperfections, np.array([False]), np.zeros(1))
    drive.command(np.array([0.2]), 0.0, 0.1)
    there = [drive.advance(0.001 * i, 0.001)[0][0] for i in range(200)][-1]
    drive.command(np.array([0.185]), 0.2, 0.3)
    back = [drive.advance(0.001 * i, 0.001)[0][0] for i in range(200, 400)][-1]
    assert there == pytest.approx(0.19)
    assert back == pytest.approx(0.19)
    assert drive.play[0] == pytest.approx(-0.005)


def test_inverse_kinematics_reaches_the_table() -> None:
    """Over the workspace the tip comes within a tenth of a millimetre of where it is sent."""
    machine = push_machine()
    kinematics, (arm,) = Kinematics(machine), machine.arms
    rng = np.random.default_rng(0)
    for x, y in rng.uniform([0.25, -0.3], [0.65, 0.3], (20, 2)):
        q, _ = kinematics.solve(arm, SE3(DOWN, np.array([x, y, 0.015])), machine.home, iterations=100)
        assert np.linalg.norm(kinematics.forward(arm, q).translation - [x, y, 0.015]) < 1e-4


def test_the_gripper_arms_have_the_published_offsets() -> None:
    """At zero the fingers' middle lies where the chain of published origins puts it."""
    machine = handover_machine()
    arm = machine.arms[0]
    chain = np.sum([link.position for link in arm.links], axis=0) + arm.T_link_tool.translation
    tool = Kinematics(machine).forward(arm, np.zeros(6))
    np.testing.assert_allclose((arm.T_world_base.inverse() @ tool).translation, chain, atol=1e-9)


def test_rows_mix_to_one_and_follow_the_shutter() -> None:
    """Weights of every row add up to one; the first row sees earlier instants than the last."""
    weights, offsets_s = row_weights(60, 4, exposure_s=0.01, readout_s=0.02)
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)
    seen_s = offsets_s @ weights
    assert np.all(np.diff(seen_s) >= -1e-12)
    assert seen_s[-1] - seen_s[0] == pytest.approx(0.02, rel=0.25)


def test_the_sensor_adds_the_stated_noise() -> None:
    """On an even grey the spread of pixels is that of shot and read noise; corners are darker by the vignetting."""
    imperfections = replace(NONE, shot_noise=0.02, read_noise=0.005)
    grey = np.full((200, 200, 3), 0.2)
    linear = (develop(grey, imperfections, np.random.default_rng(0)) / 255.0 + 0.055) / 1.055
    linear = linear**2.4
    assert linear.std() == pytest.approx(np.sqrt(0.02**2 * 0.3 + 0.005**2), rel=0.1)
    dark = develop(grey, replace(NONE, vignetting=0.4), np.random.default_rng(0))
    ratio = ((dark[0, 0, 0] / 255.0 + 0.055) / 1.055) ** 2.4 / ((dark[100, 100, 0] / 255.0 + 0.055) / 1.055) ** 2.4
    assert ratio == pytest.approx(0.6, abs=0.03)


def test_history_interpolates_between_ticks() -> None:
    """Halfway between two ticks a body is halfway along its screw, whatever the signs of the quaternions."""
    turn = SO3.exp(np.array([0.0, 0.0, 0.4]))
    ends = np.stack([SE3.identity().wxyz_xyz, SE3(turn, np.array([1.0, 0.0, 0.0])).wxyz_xyz])[:, None, :]
    ends[1, 0, :4] *= -1.0
    pose = History(("thing",), np.array([0.0, 1.0]), ends).pose("thing", 0.5)
    np.testing.assert_allclose(pose.translation, [0.5, 0.0, 0.0])
    np.testing.assert_allclose(pose.rotation.log(), [0.0, 0.0, 0.2], atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_truth_is_drawn_within_what_is_documented(seed: int) -> None:
    """Camera guesses are wrong by 1 to 2 degrees and 5 to 10 mm; parameters lie in the task's ranges."""
    task, machine, guesses = get_task("push-t"), push_machine(), push_rig((160, 120), arm_occlusion=True)
    hidden = draw_hidden(task, machine, guesses, Imperfections(), seed)
    for guess, true in zip(guesses, hidden.cameras, strict=True):
        assert guess.T_parent_camera is not None
        assert true.T_parent_camera is not None
        between = guess.T_parent_camera.inverse() @ true.T_parent_camera
        assert 1.0 <= np.degrees(np.linalg.norm(between.rotation.log())) <= 2.0
        assert 0.005 <= np.linalg.norm(between.translation) <= 0.010
    for name, (low, high) in task.parameter_ranges.items():
        assert low <= hidden.parameters[name] <= high


def test_no_camera_looks_at_the_inside_of_its_housing() -> None:
    """In some worlds the drawn error would have put the wrist camera there, and it saw nothing."""
    task, machine, guesses = get_task("push-t"), push_machine(), push_rig((160, 120), arm_occlusion=True)
    for seed in (3, 11, 33, 103):
        (wrist,) = (c for c in draw_hidden(task, machine, guesses, Imperfections(), seed).cameras if c.name == "wrist")
        assert wrist.T_parent_camera is not None
        ahead = wrist.T_parent_camera @ np.array([0.0, 0.0, 0.005])
        assert not machine.is_in_housing(wrist.parent, ahead)
    assert machine.is_in_housing("link6", np.array([0.07, 0.0, 0.015]))
    assert not machine.is_in_housing("link6", np.array([0.07, 0.0, 0.021]))


def test_another_seed_is_another_truth() -> None:
    """Every drawn number differs between two seeds; one seed draws the same twice."""
    task, machine, guesses = get_task("push-t"), push_machine(), push_rig((160, 120), arm_occlusion=True)
    one, same, other = (draw_hidden(task, machine, guesses, Imperfections(), seed) for seed in (1, 1, 2))
    assert dict(one.parameters) == dict(same.parameters)
    assert not set(one.parameters.values()) & set(other.parameters.values())
    assert not np.any(one.joint_offsets == other.joint_offsets)


@pytest.mark.parametrize(("task_name", "axis"), [("push-t", "com_y"), ("push-hammer", "com_x")])
def test_the_centre_of_mass_is_where_the_parameter_says(task_name: str, axis: str) -> None:
    """The object's inertia is physical, and its centre of mass is the drawn one, over the whole range."""
    task = get_task(task_name)
    (name,) = task.objects
    hidden = draw_hidden(task, push_machine(), (), NONE, 0)
    for value in task.parameter_ranges[f"object/{name}/{axis}"]:
        drawn = replace(hidden, parameters={**hidden.parameters, f"object/{name}/{axis}": value})
        inertia = object_inertia(get_object(name), drawn)
        inertia.check_physical()
        assert inertia.p_BoBcm_B["xyz".index(axis[-1])] == pytest.approx(value)
        assert inertia.mass_kg == pytest.approx(drawn.parameters[f"object/{name}/mass"])
