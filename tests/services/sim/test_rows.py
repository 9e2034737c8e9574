"""Simulations one by one: parameters, drives and states of some change, and nothing else does."""

import numpy as np

from gemel.services.sim.native import SimulatorNative
from services.sim.made_scenes import box_on_table, servo_arm


def test_parameters_and_states_of_some_leave_the_others_alone() -> None:
    """Rows 1 and 3 get other masses and places; a batch that had them from the start moves alike."""
    model, rows = box_on_table(), np.array([1, 3])
    names = ["object/block/mass", "contact/block-table/friction"]
    values = np.array([[1.0, 0.5], [2.0, 0.1], [1.0, 0.5], [0.5, 0.9]])
    qvel = np.zeros((4, 6))
    qvel[:, 0] = 0.5
    whole, part = SimulatorNative(model, 4, threads=1), SimulatorNative(model, 4, threads=1)
    whole.set_parameters(names, values)
    whole.reset(model.qpos0[None], qvel)
    part.set_parameters(names, np.tile(values[:1], (4, 1)))
    part.reset(model.qpos0[None] + 0.01, qvel)
    part.set_parameters(names, values[rows], rows=rows)
    part.reset(model.qpos0[None], qvel[rows], rows=rows)
    part.reset(model.qpos0[None], qvel[[0, 2]], rows=np.array([0, 2]))
    none = np.zeros((1, 20, 0))
    np.testing.assert_array_equal(part.rollout(none, every=5).qpos, whole.rollout(none, every=5).qpos)


def test_a_reset_of_some_keeps_commands_that_are_under_way_in_others() -> None:
    """Delayed commands still arrive in simulation 0 after simulation 1 was reset."""
    model = servo_arm()
    names = ["robot/hinge/delay", "robot/slide/delay"]
    plain, touched = (SimulatorNative(model, 2, threads=1) for _ in range(2))
    for simulator in (plain, touched):
        simulator.set_parameters(names, np.full((2, 2), 0.05))
        simulator.reset(np.zeros((1, 2)))
        simulator.rollout(np.full((1, 1, 2), 0.2), every=10)
    touched.set_parameters(names, np.full((1, 2), 0.2), rows=np.array([1]))
    touched.reset(np.zeros((1, 2)), rows=np.array([1]))
    after = [simulator.rollout(np.zeros((1, 1, 2)), every=100) for simulator in (plain, touched)]
    np.testing.assert_allclose(after[1].qpos[0], after[0].qpos[0], atol=1e-12)
    assert np.abs(after[0].qpos[0, -1]).max() > 1e-3
    np.testing.assert_allclose(after[1].qpos[1], 0.0, atol=1e-12)


def test_commands_one_by_one_lead_where_all_at_once_lead() -> None:
    """A rollout of t commands and t rollouts of one command are the same, forces included."""
    model = servo_arm()
    rng = np.random.default_rng(0)
    controls = rng.uniform(-0.3, 0.3, (3, 6, 2))
    both = [SimulatorNative(model, 3, threads=1) for _ in range(2)]
    for simulator in both:
        simulator.reset(np.zeros((1, 2)))
    at_once = both[0].rollout(controls, every=4, is_ramp=True).qpos
    single = [both[1].rollout(controls[:, t : t + 1], every=4, is_ramp=True).qpos for t in range(6)]
    np.testing.assert_array_equal(np.concatenate(single, axis=1), at_once)
