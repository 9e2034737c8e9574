"""Robots that stand lower than the table, and robots with a base that stays: what touches them and what does not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.finding import Severity
from gemel.artifacts.robot import RobotModel
from gemel.artifacts.twin import Twin
from gemel.geometry import SE3, box_mesh
from gemel.services.formats.robot_model import read_robot_model
from gemel.services.sim.compile import CompileConfig, compile_twin
from gemel.services.sim.contacts import FLOOR
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.slots import contact_labels
from gemel.stages.assemble.config import AssembleConfig
from gemel.stages.assemble.stage import assemble
from gemel.store.store import Store
from services.sim.made_twin import at, belief, block_twin, reconstruction, splat_mesh

LIFT = """<mujoco><worldbody><body name="cart" pos="-0.6 0 0.1"><freejoint/>
<geom name="box" type="box" size="0.3 0.2 0.1" mass="20"/><body name="mast" pos="0 0 0.1">
<joint name="lift" type="slide" axis="0 0 1" range="0 0.2"/>
<geom name="column" type="cylinder" size="0.03 0.3" pos="0 0 0.3" mass="2"/>
<body name="arm" pos="0 0 0.6"><joint name="arm" axis="0 1 0" range="-3 3"/>
<geom name="hand" type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="0.5"/></body></body></body></worldbody>
<actuator><position joint="lift" kp="9000" kv="900"/><position joint="arm" kp="90" kv="9"/></actuator></mujoco>"""
BASED = """<mujoco><worldbody><geom name="ground" type="plane" size="1 1 1"/><body name="base">
<geom name="stand" type="box" size="0.1 0.1 0.1" pos="0 0 0.1"/>
<body name="arm" pos="0 0 0.4"><joint name="j" axis="0 0 1"/>
<geom name="beam" type="capsule" size="0.02" fromto="0 0 0 0.1 0 0"/></body></body></worldbody></mujoco>"""
URDF = """<robot name="r"><link name="base"><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
<link name="one"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link><joint name="j" type="revolute">
<parent link="base"/><child link="one"/><origin xyz="0 0 0.4"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def _robot(store: Store, folder: Path, text: str) -> RobotModel:
    path = folder / f"robot.{'urdf' if text.startswith('<robot') else 'xml'}"
    path.write_text(text)
    return read_robot_model(path, store)


def _twin(store: Store, robot: RobotModel, *, height: float = 0.0, base: SE3 | None = None) -> Twin:
    """The block beside a robot as its file has it, on a table at a height."""
    twin = block_twin(store, {})
    pose = twin.initial_poses["t_block"]
    lifted = SE3(pose.rotation, pose.translation + np.array([0.0, 0.0, height]))
    seen = reconstruction({}, {})
    return replace(
        twin, robot=robot, table_height_m=height, initial_poses={"t_block": lifted},
        reconstruction=seen if base is None else replace(seen, Ts_world_base=base),
    )  # fmt: skip


def test_parts_below_the_table_stand_on_a_floor(store: Store, tmp_path: Path) -> None:
    """A cart and its mast; the arm, which reaches above the table, touches the table. All stand still for 2 s."""
    scene = compile_twin(_twin(store, _robot(store, tmp_path, LIFT), height=0.5), store)
    labels = set(contact_labels(scene.model))
    assert {f"box-{FLOOR}", f"column-{FLOOR}", "hand-table", "t_block-table", "t_block-box"} <= labels
    assert not {"box-table", "column-table"} & labels
    simulator = SimulatorNative(scene.model, 1)
    simulator.reset(scene.qpos(None))
    end = simulator.rollout(np.zeros((1, 1, scene.model.nu)), every=500)
    moved = simulator.body_poses("cart", end.qpos[0, -1]).translation - [-0.6, 0.0, 0.1]
    assert np.abs(moved).max() < 1e-3
    assert end.contact_forces[f"box-{FLOOR}"][0, -1, 2] < -100.0


def test_a_fixed_robot_below_the_table_needs_no_floor(store: Store, tmp_path: Path) -> None:
    """Nothing holds it up but its base: what is below the table swings freely there."""
    below = SE3(SE3.identity(1).rotation, np.array([[0.0, 0.0, -0.6]]))
    scene = compile_twin(_twin(store, _robot(store, tmp_path, BASED), base=below), store)
    labels = set(contact_labels(scene.model))
    assert labels == {"t_block-table", "t_block-stand", "t_block-beam"}
    assert not any("beam-table" in scene.model.sensor(i).name for i in range(scene.model.nsensor))


def test_a_robot_on_the_table_has_no_floor(store: Store, tmp_path: Path) -> None:
    """Where everything is above the table there is one plane, as before."""
    scene = compile_twin(_twin(store, _robot(store, tmp_path, LIFT)), store)
    assert {"box-table", "column-table", "hand-table"} <= set(contact_labels(scene.model))
    assert not any(FLOOR in label for label in contact_labels(scene.model))


def test_a_still_base_is_no_ghost(store: Store, tmp_path: Path) -> None:
    """What slides at it stops there; it does not touch the table that it stands on, nor does the floor of its file."""
    scene = compile_twin(_twin(store, _robot(store, tmp_path, BASED)), store)
    labels = set(contact_labels(scene.model))
    assert labels == {"t_block-table", "t_block-stand", "t_block-beam", "beam-table"}
    simulator = SimulatorNative(scene.model, 1)
    qvel = np.zeros((1, scene.model.nv))
    qvel[0, scene.model.joint("t_block").dofadr[0]] = -2.5
    simulator.reset(scene.qpos(None, {"t_block": at(0.35, 0.0, 0.0201)}), qvel)
    end = simulator.rollout(np.zeros((1, 40, scene.model.nu)), every=10)
    assert end.qpos[0, :, scene.model.joint("t_block").qposadr[0]].min() > 0.1


def test_links_that_the_compiler_fuses_are_there_and_calibrated(store: Store, tmp_path: Path) -> None:
    """The base of a URDF touches objects, at the place that calibration found for the arm on it."""
    base = SE3.identity(1)
    moved = SE3(base.rotation, np.array([[1.0, 0.2, 0.4]]))
    scene = compile_twin(_twin(store, _robot(store, tmp_path, URDF), base=moved), store)
    assert {"t_block-base", "t_block-one", "one-table"} <= set(contact_labels(scene.model))
    np.testing.assert_allclose(scene.model.geom("base/geom0").pos, [1.0, 0.2, 0.0], atol=1e-9)


def test_the_gate_finds_an_object_in_a_still_base(store: Store, tmp_path: Path) -> None:
    """A box where the robot's base stands."""
    seen = reconstruction({"cube": splat_mesh(*box_mesh((0.1, 0.06, 0.04)))}, {"cube": at(0.05, 0.0, 0.02)})
    _, info = assemble(
        seen, belief({}), AssembleConfig(is_gate_strict=False), robot=_robot(store, tmp_path, BASED), joints=(),
        task=None, blobs=store, rng=np.random.default_rng(0),
    )  # fmt: skip
    (found,) = (finding for finding in info.findings if finding.code == "initial-penetration")
    assert found.severity is Severity.ERROR
    assert "'base'" in found.message


@pytest.mark.parametrize("name", ["contact/table-t_block/friction", "contact/t_block-table/restitution"])
def test_the_scene_without_its_robot_has_the_same_physics(store: Store, name: str) -> None:
    """Contacts named from the other side and restitutions are in it as well."""
    twin = block_twin(store, {name: (0.1,)})
    whole, alone = compile_twin(twin, store), compile_twin(twin, store, config=CompileConfig(is_robot_included=False))
    np.testing.assert_array_equal(whole.model.pair_friction, alone.model.pair_friction)
    np.testing.assert_array_equal(whole.model.pair_solref, alone.model.pair_solref)
    assert whole.model.pair_friction[0, 0] == 0.1 or whole.model.pair_solref[0, 1] != 1.0


def test_a_mobile_robot_stands_at_a_table(store: Store, shared_data: Path) -> None:
    """Trossen Mobile AI at a table of 0.75 m: the gate has no errors, and base and box are at rest for two seconds."""
    path = shared_data / "trossen_models" / "mobile_ai" / "mobile_ai.xml"
    if not path.is_file():
        pytest.skip("needs trossen_models in ../shared/data")
    seen = reconstruction({"cube": splat_mesh(*box_mesh((0.1, 0.06, 0.04)))}, {"cube": at(0.6, 0.0, 0.77)})
    assert seen.table is not None
    seen = replace(seen, table=replace(seen.table, vertices=seen.table.vertices + np.array([0.0, 0.0, 0.75])))
    twin, info = assemble(
        seen, belief({}), AssembleConfig(settle_s=1.0), robot=read_robot_model(path, store), joints=(), task=None,
        blobs=store, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert {finding.severity for finding in info.findings} == {Severity.NOTE}
    scene = compile_twin(twin, store)
    simulator, start = SimulatorNative(scene.model, 1), scene.qpos(None)
    simulator.reset(start)
    end = simulator.rollout(scene.commands(np.zeros((1, 1, 0))), every=500)
    assert not end.is_diverged[0]
    for body in ("mobile_base_link", "cube"):
        before, after = (simulator.body_poses(body, qpos).as_matrix() for qpos in (start[0], end.qpos[0, -1]))
        np.testing.assert_allclose(after, before, atol=2e-3)
