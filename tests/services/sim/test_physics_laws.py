"""Named parameters have the effect that physics says, each simulation with its own values."""

from typing import Any

import numpy as np
import pytest

from gemel.errors import ConfigError
from gemel.services.sim.native import SimulatorNative
from services.sim.made_scenes import box_on_table, pair, plank_over_edge, scene, turntable

NO_CONTROLS = np.zeros((1, 1, 0))


def test_sliding_distance_follows_friction() -> None:
    """A box that slides at v stops after v² / 2µg, whatever its mass."""
    frictions = np.array([0.2, 0.35, 0.5, 0.8])
    simulator = SimulatorNative(box_on_table(), 4)
    simulator.set_parameters(
        ("contact/block-table/friction", "object/block/mass"), np.stack([frictions, [0.5, 1.0, 2.0, 4.0]], axis=1)
    )
    simulator.reset(simulator.model.qpos0[None])
    simulator.rollout(NO_CONTROLS, every=200)  # settle
    simulator.reset(simulator.qpos, np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]))
    start = simulator.qpos[:, 0]
    rollout = simulator.rollout(NO_CONTROLS, every=800)
    assert np.abs(rollout.qvel[:, -1]).max() < 1e-3
    np.testing.assert_allclose(rollout.qpos[:, -1, 0] - start, 1.0 / (2 * frictions * 9.81), rtol=0.02)


def test_balance_point_follows_centre_of_mass() -> None:
    """A plank half over an edge falls exactly where its centre of mass is beyond the edge."""
    coms = np.array([-0.06, -0.02, -0.004, 0.004, 0.02, 0.06])
    fell = _fell(plank_over_edge(), coms)
    np.testing.assert_array_equal(fell, coms > 0.0)


def test_a_moved_centre_of_mass_needs_the_constants_to_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `set_const` MuJoCo goes on with the old body: the law above would notice."""
    from mujoco import batch

    monkeypatch.setattr(batch.Batch, "set_const", lambda self, ids=None: None)
    coms = np.array([-0.06, 0.06])
    assert not np.array_equal(_fell(plank_over_edge(), coms), coms > 0.0)


def test_a_simple_body_is_refused() -> None:
    """A body that MuJoCo compiled with its short cut would ignore a moved centre of mass."""
    simulator = SimulatorNative(plank_over_edge(simple="auto"), 1)
    with pytest.raises(ConfigError, match="simple"):
        simulator.set_parameters(("object/plank/com_x",), np.array([[0.01]]))


def test_force_on_table_is_weight() -> None:
    """At rest the table carries m g of each simulation."""
    simulator = SimulatorNative(box_on_table(), 3)
    masses, gravity = np.array([0.2, 1.0, 5.0]), np.array([-9.81, -1.62, -3.7])
    simulator.set_parameters(("object/block/mass", "gravity/z"), np.stack([masses, gravity], axis=1))
    simulator.reset(simulator.model.qpos0[None])
    forces = simulator.rollout(NO_CONTROLS, every=1000).contact_forces["block-table"]
    np.testing.assert_allclose(forces[:, -1, 2], masses * gravity, rtol=1e-3)


def test_angular_acceleration_follows_inertia() -> None:
    """Under torque τ the disc turns by ½ τ t² / (Izz + m r² + armature)."""
    simulator = SimulatorNative(turntable(), 3)
    izz, mass, com, armature = np.array([0.04, 0.04, 0.045]), np.array([2.0, 3.0, 2.0]), np.array([0.0, 0.2, 0.1]), 0.01
    names = ("object/disc/inertia_zz", "object/disc/mass", "object/disc/com_x", "robot/turn/armature")
    simulator.set_parameters(names, np.stack([izz, mass, com, np.full(3, armature)], axis=1))
    simulator.reset(np.zeros((1, 2)))
    angle = simulator.rollout(np.full((1, 1, 1), 0.01), every=1000).qpos[:, -1, 0]
    np.testing.assert_allclose(angle, 0.5 * 0.01 / (izz + mass * com**2 + armature), rtol=2e-3)


def test_joint_friction_and_damping_stop_joints() -> None:
    """Dry friction F stops a joint after I ω² / 2F; damping d lets it turn by I ω / d."""
    simulator = SimulatorNative(turntable(), 2)
    simulator.set_parameters(
        ("robot/turn/coulomb", "joint/lid_hinge/friction", "robot/turn/damping", "joint/lid_hinge/damping"),
        np.array([[0.05, 0.02, 0.0, 0.0], [0.0, 0.0, 0.1, 0.05]]),
    )
    simulator.reset(np.zeros((1, 2)), np.full((1, 2), 2.0))
    angles = simulator.rollout(np.zeros((1, 1, 1)), every=5000).qpos[:, -1]
    np.testing.assert_allclose(angles[0], [0.04 * 4 / 0.1, 0.02 * 4 / 0.04], rtol=0.01)
    np.testing.assert_allclose(angles[1], [0.04 * 2 / 0.1, 0.02 * 2 / 0.05], rtol=0.01)


def test_each_contact_has_its_own_friction() -> None:
    """Two boxes on one table slide by their own frictions."""
    bodies = '<geom name="table" type="plane" size="5 5 0.1"/>' + "".join(
        f'<body name="{name}" pos="0 {y} 0.02" simple="false"><freejoint/>'
        f'<geom name="{name}" type="box" size="0.05 0.05 0.02" mass="1"/></body>'
        for name, y in (("a", 0.0), ("b", 1.0))
    )
    simulator = SimulatorNative(scene(bodies, pair("a", "table") + pair("b", "table")), 1)
    simulator.set_parameters(("contact/a-table/friction", "contact/table-b/friction"), np.array([[0.3, 0.6]]))
    simulator.reset(simulator.model.qpos0[None], np.array([[1.0, 0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 0]]))
    end = simulator.rollout(NO_CONTROLS, every=600).qpos[0, -1]
    assert end[0] / end[7] == pytest.approx(2.0, rel=0.03)


def test_parameters_that_are_not_named_return_to_what_was_compiled() -> None:
    """A second call starts from the compiled scene, not from the first call."""
    simulator = SimulatorNative(box_on_table(), 2)
    simulator.set_parameters(("object/block/mass", "object/block/com_x"), np.array([[3.0, 0.01], [2.0, 0.02]]))
    simulator.set_parameters(("contact/block-table/friction",), np.array([[0.5], [0.5]]))
    simulator.reset(simulator.model.qpos0[None])
    forces = simulator.rollout(NO_CONTROLS, every=500).contact_forces["block-table"]
    np.testing.assert_allclose(forces[:, -1, 2], -9.81, rtol=1e-3)


def _fell(model: Any, coms: np.ndarray) -> np.ndarray:
    simulator = SimulatorNative(model, len(coms))
    simulator.set_parameters(("object/plank/com_x",), coms[:, None])
    simulator.reset(model.qpos0[None])
    end = simulator.rollout(NO_CONTROLS, every=1000)
    assert not end.is_diverged.any()
    return np.asarray(end.qpos[:, -1, 2] < -0.05)
