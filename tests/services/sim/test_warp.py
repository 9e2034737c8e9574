"""`native` and `warp` simulate the same physics. Warp runs on the processor here, after half a minute of compiling."""

from typing import Any

import numpy as np
import pytest

from gemel.services.sim.native import SimulatorNative
from services.sim.made_scenes import servo_arm


@pytest.fixture
def make_warp() -> Any:
    pytest.importorskip("mujoco_warp", reason="needs the extra `warp`")
    from gemel.services.sim.warp import SimulatorWarp

    return SimulatorWarp


@pytest.mark.slow
def test_without_contact_trajectories_agree_over_a_second(make_warp: Any) -> None:
    """Within 0.1 mm and 0.1 mrad over 1 s: warp is float32. Delays, play and lead are those of the processor."""
    model = servo_arm()
    names = ["robot/hinge/delay", "robot/hinge/backlash", "robot/slide/lead", "object/lower/mass"]
    values = np.array([[0.0, 0.0, 0.0, 0.3], [0.013, 0.01, 0.02, 0.5], [0.03, 0.002, 0.05, 0.2]])
    controls = 0.3 * np.sin(np.arange(25) / 4.0)[None, :, None] * np.ones((3, 1, 2))
    found = []
    for simulator in (SimulatorNative(model, 3, threads=1), make_warp(model, 3)):
        simulator.set_parameters(names, values)
        simulator.reset(np.zeros((1, 2)))
        found.append(simulator.rollout(controls, every=20, is_ramp=True).qpos)
    assert np.abs(found[0]).max() > 0.1
    np.testing.assert_allclose(found[1], found[0], atol=1e-4)


@pytest.mark.slow
def test_with_contact_pushes_end_alike(make_warp: Any) -> None:
    """32 pushed blocks of different mass, centre of mass and friction.

    Half of them end within 1 mm; where a push slips off a corner in one and not in the other, ends differ by more, but
    to no side: the mean difference is within three standard errors of zero.
    """
    from gemel.services.sim.planar_push import planar_push
    from gemel.services.tasks import get_object

    model, rng = planar_push(get_object("t_block")), np.random.default_rng(0)
    names = ["object/t_block/com_y", "object/t_block/mass", "contact/t_block-table/friction"]
    values = rng.uniform([-0.03, 0.3, 0.3], [0.07, 0.4, 0.7], (32, 3))
    start = np.repeat(model.qpos0[None], 32, axis=0)
    start[:, 7:] = np.column_stack([np.full(32, -0.15), rng.uniform(-0.02, 0.06, 32)])
    path = np.stack([start[:, 7, None] + np.linspace(0.0, 0.2, 20), np.repeat(start[:, 8:], 20, axis=1)], axis=-1)
    ends = []
    for simulator in (SimulatorNative(model, 32, threads=1), make_warp(model, 32)):
        simulator.set_parameters(names, values)
        simulator.reset(start)
        rollout = simulator.rollout(path, every=10, is_ramp=True)
        assert not rollout.is_diverged.any()
        ends.append(rollout.qpos[:, -1, :2])
    assert np.linalg.norm(ends[0], axis=1).mean() > 0.02
    apart = ends[1] - ends[0]
    assert np.median(np.linalg.norm(apart, axis=1)) < 1e-3
    assert np.all(np.abs(apart.mean(axis=0)) < 3.0 * apart.std(axis=0, ddof=1) / np.sqrt(32) + 1e-4)


@pytest.mark.slow
def test_single_worlds_are_reset_and_broken_ones_flagged(make_warp: Any) -> None:
    """A world that starts with numbers that are not finite is flagged; a reset of it alone makes it whole."""
    simulator = make_warp(servo_arm(), 3)
    bad = np.zeros((3, 2))
    bad[1] = np.inf
    simulator.reset(np.zeros((1, 2)), bad)
    rollout = simulator.rollout(np.full((1, 1, 2), 0.1), every=5)
    assert rollout.is_diverged.tolist() == [False, True, False]
    before = simulator.qpos
    simulator.reset(np.full((1, 2), 0.05), rows=np.array([1]))
    np.testing.assert_array_equal(simulator.qpos[[0, 2]], before[[0, 2]])
    np.testing.assert_allclose(simulator.qpos[1], 0.05, atol=1e-7)
    assert not simulator.rollout(np.full((1, 1, 2), 0.1), every=5).is_diverged.any()
