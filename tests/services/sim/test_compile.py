"""A twin compiled: it rests, it stands where it was calibrated, and each draw is its own scene."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.reconstruction import ArticulatedObject
from gemel.artifacts.robot import RobotModel
from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.services.formats.robot_model import compile_stored_robot, read_robot_model
from gemel.services.sim.compile import CompileConfig, compile_twin
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.twin_simulator import draw_samples, simulate_twin
from gemel.services.tasks import get_task
from gemel.store.store import Store
from services.sim.made_twin import BASE, OFFSETS, at, belief, block_twin, reconstruction, sample_robot

MASSES, FRICTIONS = (0.2, 0.34, 0.5), (0.3, 0.5, 0.7)
VALUES = {
    "object/t_block/mass": MASSES, "object/t_block/com_y": (-0.02, 0.0, 0.04),
    "contact/t_block-table/friction": FRICTIONS,
}  # fmt: skip
DEGREES = """<mujoco><compiler angle="degree"/><worldbody><frame euler="10 0 30" pos="0.1 0 0">
<body name="base" euler="0 0 20"><geom size="0.02"/>
<body name="one" pos="0 0 0.1"><joint name="a" axis="0 1 0" range="-90 90"/><geom size="0.05"/>
<body name="two" pos="0.3 0 0"><joint name="b" type="slide" axis="1 0 0" range="-1 1"/><geom size="0.03"/></body>
</body></body></frame></worldbody></mujoco>"""
LINK = '<inertial><mass value="1"/><inertia ixx=".01" ixy="0" ixz="0" iyy=".01" iyz="0" izz=".01"/></inertial>'
URDF = f"""<robot name="arm"><link name="world_link"/><link name="base">{LINK}</link><link name="one">{LINK}</link>
<link name="two">{LINK}</link><joint name="stand" type="fixed"><parent link="world_link"/><child link="base"/>
<origin xyz="0 0 0.2" rpy="0 0 0.5"/></joint><joint name="a" type="revolute"><parent link="base"/><child link="one"/>
<origin xyz="0 0 0.1"/><axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" effort="9" velocity="9"/></joint>
<joint name="b" type="prismatic"><parent link="one"/><child link="two"/><origin xyz="0.3 0 0"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="9" velocity="9"/></joint></robot>"""
DRAWER = """<mujoco><worldbody><body name="tray"><joint name="slide" type="slide" axis="1 0 0"/>
<geom name="front" type="box" size="0.1 0.1 0.05" mass="1"/></body></worldbody></mujoco>"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_block_rests_on_the_table_in_every_draw(store: Store) -> None:
    """Nothing moves for five seconds, and the table carries each draw's weight."""
    twin = block_twin(store, VALUES)
    simulator, scene = simulate_twin(twin, store, twin.belief.samples)
    start = scene.qpos(None)
    rollout = simulator.rollout(np.zeros((1, 1, 0)), every=1250)
    assert np.abs(rollout.qpos[:, -1] - start).max() < 1e-4
    np.testing.assert_allclose(rollout.contact_forces["t_block-table"][:, -1, 2], -9.81 * np.array(MASSES), rtol=1e-3)


def test_a_simulation_of_a_draw_is_the_scene_compiled_with_it(store: Store) -> None:
    """Setting parameters on a compiled scene and compiling them in give the same motion."""
    twin = block_twin(store, VALUES)
    simulator, scene = simulate_twin(twin, store, twin.belief.samples)
    speed = np.array([[0.6, 0.1, 0.0, 0.0, 0.0, 2.0]])
    simulator.reset(scene.qpos(None), speed)
    together = simulator.rollout(np.zeros((1, 20, 0)), every=10).qpos
    for i, row in enumerate(twin.belief.samples):
        alone = SimulatorNative(
            compile_twin(twin, store, dict(zip(twin.belief.names, row.tolist(), strict=True))).model, 1
        )
        alone.reset(scene.qpos(None), speed)
        np.testing.assert_allclose(
            alone.rollout(np.zeros((1, 20, 0)), every=10).qpos[0], together[i], atol=1e-6
        )  # fmt: skip
    assert np.ptp(together[:, -1, 0]) > 0.01


def test_the_description_holds_the_draw(store: Store) -> None:
    """What an export writes compiles to the same masses and frictions."""
    scene = compile_twin(block_twin(store, VALUES), store, {"object/t_block/mass": 0.77, "gravity/z": -5.0})
    again = scene.spec.compile()
    body = again.body("t_block").id
    assert again.body_mass[body] == pytest.approx(0.77)
    assert again.opt.gravity[2] == -5.0
    np.testing.assert_allclose(again.body_inertia[body], scene.model.body_inertia[scene.model.body("t_block").id])


@pytest.mark.parametrize("kind", ["sample", "degrees", "urdf"])
def test_robot_stands_where_it_was_calibrated(store: Store, tmp_path: Path, kind: str) -> None:
    """At logged joint values, links are where calibrated kinematics has them, base pose and offsets included."""
    import torch

    from gemel.services.kinematics.forward import ForwardKinematics
    from gemel.services.kinematics.tree import kinematic_tree

    robot = _robot(kind, store, tmp_path)
    count = len(robot.joint_names)
    twin = replace(
        block_twin(store, {}), robot=robot, joints=robot.joint_names,
        reconstruction=replace(
            reconstruction({}, {}), Ts_world_base=BASE, joint_offsets=OFFSETS[:count],
            joint_offset_sigmas=np.zeros(count), joint_plays=np.zeros(count),
        ),
    )  # fmt: skip
    logged = np.random.default_rng(2).uniform(-0.5, 0.5, (5, count))
    scene = compile_twin(twin, store)
    tree = kinematic_tree(compile_stored_robot(robot, store))
    wanted = ForwardKinematics(tree).link_poses(
        torch.as_tensor(logged),
        offsets=torch.as_tensor(OFFSETS[:count]),
        Ts_world_root=torch.as_tensor(BASE.as_matrix()),
    )
    simulator = SimulatorNative(scene.model, 1)
    for i, link in enumerate(tree.links):
        poses = simulator.body_poses(link, scene.qpos(logged)).as_matrix()
        np.testing.assert_allclose(poses, wanted[:, i].numpy(), atol=1e-9)


@pytest.mark.parametrize("kind", ["sample", "degrees", "urdf"])
def test_servos_hold_logged_positions(store: Store, tmp_path: Path, kind: str) -> None:
    """Commands are in the units of the log; models without actuators get servos that follow them."""
    robot = _robot(kind, store, tmp_path)
    count = len(robot.joint_names)
    twin = block_twin(store, {}, robot=robot)
    zeros = np.zeros(count)
    seen = replace(twin.reconstruction, joint_offsets=OFFSETS[:count], joint_offset_sigmas=zeros, joint_plays=zeros)
    twin = replace(twin, reconstruction=seen, joints=robot.joint_names, table_height_m=None)
    scene = compile_twin(twin, store)
    assert scene.model.nu == count
    simulator = SimulatorNative(scene.model, 1)
    start, goal = np.full((1, count), 0.1), np.full((1, count), 0.3)
    simulator.reset(scene.qpos(start))
    held = simulator.rollout(np.repeat(start[:, None], 50, axis=1), every=5).qpos[0, -1]
    reached = simulator.rollout(np.repeat(goal[:, None], 300, axis=1), every=5).qpos[0, -1]
    columns = [scene.model.joint(name).qposadr[0] for name in robot.joint_names]
    np.testing.assert_allclose(held[columns], 0.1, atol=2e-3)
    np.testing.assert_allclose(reached[columns], 0.3, atol=5e-3)


def test_the_pusher_pushes(store: Store) -> None:
    """A tool that sweeps through an object moves it and feels it; the contact has the tool's name."""
    robot = sample_robot(store)
    joints = np.array([[0.0, 0.9, 0.8, 0.0, 1.4, 0.0]])
    bare = compile_twin(block_twin(store, {}, robot=robot), store)
    pusher = bare.model.geom("pusher")
    pose = SimulatorNative(bare.model, 1).body_poses("link6", bare.qpos(joints))[0]
    tip = pose @ np.array(pusher.pos)
    away = at(tip[0], tip[1] + 0.14, tip[2])
    values = {"gravity/z": (0.0,), "contact/t_block-pusher/friction": (0.3,)}
    twin = replace(block_twin(store, values, robot=robot, pose=away), table_height_m=None)
    simulator, scene = simulate_twin(twin, store, twin.belief.samples)
    simulator.reset(scene.qpos(joints))
    commands = np.repeat(joints[:, None], 600, axis=1)
    commands[0, :, 0] = np.linspace(0.0, 0.4, 600)
    rollout = simulator.rollout(commands, every=1)
    moved = simulator.body_poses("t_block", rollout.qpos[:, -1]).translation[0] - away.translation
    assert moved[1] > 0.02
    assert rollout.contact_forces["t_block-pusher"][0, :, 1].min() < -0.05


def test_scene_without_robot_and_step_of_a_task(store: Store) -> None:
    """A reconstruction without robot works; physics steps divide the control period."""
    scene = compile_twin(replace(block_twin(store, VALUES), task=get_task("toss")), store)
    assert scene.model.nu == 0
    steps = get_task("toss").control_period_s / scene.model.opt.timestep
    assert steps == pytest.approx(round(steps))
    assert scene.model.opt.timestep <= 0.004


def test_believed_frictions_get_contacts_that_have_them(store: Store) -> None:
    """Rolling friction in the belief makes a contact that rolls."""
    twin = block_twin(store, {"contact/t_block-table/rolling": (0.001,)})
    model = compile_twin(twin, store).model
    assert set(model.pair_dim) == {6}
    np.testing.assert_allclose(model.pair_friction[:, 3:], 0.001)


def test_drawers_have_joints_of_their_own(store: Store) -> None:
    """An articulated object stands where it was placed, and its joint's damping has a name."""
    twin = block_twin(store, {"joint/drawer_slide/damping": (2.0, 4.0)})
    thing = ArticulatedObject("mjcf", store.put_bytes(DRAWER.encode()))
    places = {**twin.reconstruction.placements, "drawer": at(0.0, 1.0, 0.3)}
    twin = replace(twin, reconstruction=replace(twin.reconstruction, articulated={"drawer": thing}, placements=places))
    simulator, scene = simulate_twin(twin, store, twin.belief.samples)
    joint = scene.model.joint("drawer_slide")
    speed = np.zeros((1, scene.model.nv))
    speed[0, joint.dofadr[0]] = 1.0
    simulator.reset(scene.qpos(None), speed)
    travel = simulator.rollout(np.zeros((1, 1, 0)), every=1500).qpos[:, -1, joint.qposadr[0]]
    np.testing.assert_allclose(travel, [1.0 / 2.0, 1.0 / 4.0], rtol=0.01)
    place = simulator.body_poses("drawer_tray", scene.qpos(None)).translation[0]
    np.testing.assert_allclose(place, [0.0, 1.0, 0.3])


def test_fingers_follow_their_leader(store: Store, tmp_path: Path) -> None:
    """States from logged joints set coupled joints too, and fingers are called gripper in contacts."""
    path = tmp_path / "gripper.xml"
    path.write_text(
        '<mujoco><worldbody><body name="left_finger"><joint name="l" type="slide" axis="0 1 0"/><geom size="0.01"/>'
        '</body><body name="right_finger"><joint name="r" type="slide" axis="0 -1 0"/><geom size="0.01"/></body>'
        '</worldbody><equality><joint joint1="r" joint2="l"/></equality>'
        '<actuator><position joint="l" kp="100"/></actuator></mujoco>'
    )
    robot = read_robot_model(path, store)
    twin = replace(block_twin(store, {}), robot=robot, joints=("l",))
    seen = replace(
        twin.reconstruction, joint_offsets=np.zeros(1), joint_offset_sigmas=np.zeros(1), joint_plays=np.zeros(1)
    )
    scene = compile_twin(replace(twin, reconstruction=seen), store)
    qpos = scene.qpos(np.array([[0.03]]))
    assert qpos[0, scene.model.joint("r").qposadr[0]] == pytest.approx(0.03)
    assert "contact/t_block-gripper/friction" in SimulatorNative(scene.model, 1).parameter_names


def test_errors_name_what_is_wrong(store: Store) -> None:
    """Unknown parameters, names that are taken, and base poses of another robot."""
    with pytest.raises(ConfigError, match="contact/t_block-table/friction"):
        compile_twin(block_twin(store, {"contact/t_blok-table/friction": (0.5,)}), store)
    twin = block_twin(store, {})
    with pytest.raises(ConfigError, match="cannot be called 'table'"):
        compile_twin(replace(twin, colliders={"table": ()}, initial_poses={"table": SE3.identity()}), store)
    with pytest.raises(ConfigError, match="no mass properties"):
        compile_twin(replace(twin, inertias={}), store)
    robot = sample_robot(store)
    seen = replace(reconstruction({}, {}, has_robot=True), Ts_world_base=SE3.identity(2))
    with pytest.raises(ConfigError, match="2 base poses"):
        compile_twin(replace(block_twin(store, {}, robot=robot), reconstruction=seen), store)


def test_draws_follow_the_weights(store: Store) -> None:
    """Samples without weight are never drawn."""
    twin = block_twin(store, {"object/t_block/mass": MASSES})
    weighted = replace(belief({"object/t_block/mass": MASSES}), weights=np.array([0.0, 1.0, 0.0]))
    draws = draw_samples(replace(twin, belief=weighted), 20, np.random.default_rng(0))
    assert set(draws[:, 0]) == {MASSES[1]}


def test_sensors_are_optional(store: Store) -> None:
    """Without sensors there are no forces to read, and the physics is the same."""
    twin = block_twin(store, VALUES)
    ends = []
    for has_sensors in (True, False):
        simulator, scene = simulate_twin(
            twin, store, twin.belief.samples, config=CompileConfig(has_force_sensors=has_sensors)
        )
        simulator.reset(scene.qpos(None), np.array([[0.5, 0, 0, 0, 0, 1.0]]))
        rollout = simulator.rollout(np.zeros((1, 10, 0)), every=10)
        assert bool(rollout.contact_forces) is has_sensors
        ends.append(rollout.qpos[:, -1])
    np.testing.assert_array_equal(ends[0], ends[1])


def _robot(kind: str, store: Store, folder: Path) -> RobotModel:
    if kind == "sample":
        return sample_robot(store)
    path = folder / ("robot.urdf" if kind == "urdf" else "robot.xml")
    path.write_text(URDF if kind == "urdf" else DEGREES)
    return read_robot_model(path, store)
