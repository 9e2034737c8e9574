"""Parts of exports: textures, angles, stages of USD, robots that formats cannot carry."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.capture import Domain
from gemel.errors import ConfigError, SourceError
from gemel.geometry import SO3, icosphere_mesh, sample_bilinear
from gemel.outputs.export.bake import bake, colours_at
from gemel.outputs.export.export import export_twin
from gemel.outputs.export.felt_servo import felt_servo
from gemel.outputs.export.lerobot import action_names, held_episode, joint_names, verify_lerobot
from gemel.outputs.export.links import Servo
from gemel.outputs.export.rollout import start
from gemel.outputs.export.scene import export_scene
from gemel.outputs.export.urdf import roll_pitch_yaw
from gemel.services.formats.lerobot_reader import open_source
from gemel.services.formats.lerobot_recorder import Recorder, RobotNotes
from gemel.services.formats.mesh_file import read_mesh
from gemel.services.formats.robot_model import read_robot_model
from gemel.services.render.bound_gaussians import gaussians_of
from gemel.services.render.spherical_harmonics import C0
from gemel.store.store import Store
from outputs.export.exported_twin import dressed, odd_twin, robot_twin, sample_twin, with_looks
from services.sim.made_twin import block_twin, splat_mesh


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_texture_has_each_faces_colour_where_the_face_is() -> None:
    """Looked up at the middle of a face, the texture shows the Gaussian that sits there; cells do not bleed."""
    mesh = with_looks(splat_mesh(*icosphere_mesh(0.1, 1)))
    gaussians = gaussians_of(mesh)
    baked = bake(mesh, gaussians)
    side = baked.texture.shape[0]
    assert baked.uv.min() > 0.0
    assert baked.uv.max() < 1.0
    middles = baked.uv.mean(axis=1) * [1.0, -1.0] + [0.0, 1.0]
    shown = sample_bilinear(baked.texture.astype(np.float32) / np.float32(255.0), middles * side)[0]
    expected = np.clip(0.5 + C0 * mesh.sh[:, 0], 0.0, 1.0)
    assert np.abs(shown - expected).max() < 0.2
    assert np.abs(shown - expected).mean() < 0.05


def test_files_have_the_table_without_the_shade_of_objects(store: Store) -> None:
    """What trials showed of the bare table is what formats write."""
    twin = sample_twin(store)
    seen = twin.reconstruction
    assert seen.table is not None
    bare = np.random.default_rng(3).uniform(0.2, 0.8, (len(seen.table.opacity), 3))
    bared = replace(twin, reconstruction=replace(seen, bare_table=bare))
    written = export_scene(bared, store).splats()["table"]
    np.testing.assert_allclose(0.5 + C0 * written.sh[:, 0], bare, atol=1e-6)
    np.testing.assert_array_equal(export_scene(twin, store).splats()["table"].sh, gaussians_of(seen.table).sh)


URDF = """<robot name="r"><link name="base"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>
<visual><geometry><sphere radius="0.1"/></geometry></visual></link><link name="arm"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>
<box size="0.05 0.05 0.3"/></geometry></collision></link><joint name="j" type="revolute"><parent link="base"/>
<child link="arm"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="1"/>
</joint></robot>"""


def test_a_robot_from_urdf_keeps_what_objects_look_like(store: Store, tmp_path: Path) -> None:
    """MuJoCo drops what is only seen from models that came as URDF, unless told not to."""
    (tmp_path / "r.urdf").write_text(URDF)
    twin = dressed(block_twin(store, {}, robot=read_robot_model(tmp_path / "r.urdf", store)))
    one = np.zeros(1)
    seen = replace(
        twin.reconstruction, joint_offsets=one, joint_offset_sigmas=one, joint_plays=one, cameras=()
    )  # fmt: skip
    reports = export_twin(replace(twin, reconstruction=seen), store, ("mjcf", "urdf"), tmp_path / "out")
    assert [report.is_verified for report in reports] == [True, True]
    assert "t_block/looks" in (tmp_path / "out" / "mjcf" / "scene.xml").read_text()


def test_a_surface_of_one_colour_bakes_to_that_colour() -> None:
    """All texels, borders included, have the one colour."""
    mesh = with_looks(splat_mesh(*icosphere_mesh(0.1, 1)))
    mesh.sh[:] = np.array([0.5, -0.5, 0.2])
    texture = bake(mesh, gaussians_of(mesh)).texture.reshape(-1, 3)
    drawn = texture[texture.any(axis=1)]
    assert np.abs(drawn / 255.0 - (0.5 + C0 * np.array([0.5, -0.5, 0.2]))).max() < 3e-3


def test_the_far_side_of_a_thin_plate_does_not_shine_through() -> None:
    """Gaussians that look the other way are left out even where they are nearest."""
    low, high = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]]) * 0.1, np.array([[0, 0, 1e-4]] * 3)
    vertices = np.concatenate([low, low + high])
    mesh = with_looks(splat_mesh(vertices, np.array([[0, 2, 1], [3, 4, 5]])))
    mesh.sh[0], mesh.sh[1] = 1.0, -1.0
    point = vertices[3:].mean(axis=0, keepdims=True)
    seen = colours_at(point, np.array([[0.0, 0.0, 1.0]]), mesh, gaussians_of(mesh))
    assert np.allclose(seen, 0.5 - C0, atol=1e-6)


def test_angles_of_urdf_are_the_rotation() -> None:
    """R = Rz(yaw) Ry(pitch) Rx(roll), also looking straight up and down."""
    rng = np.random.default_rng(0)
    poles = [SO3.exp(np.array([0.0, s * math.pi / 2, 0.0])) @ SO3.exp(np.array([0.7, 0, 0])) for s in (-1, 1)]
    for rotation in [*(SO3.random(rng) for _ in range(50)), *poles]:
        roll, pitch, yaw = roll_pitch_yaw(rotation)
        turns = [SO3.exp(np.eye(3)[axis] * angle) for axis, angle in ((2, yaw), (1, pitch), (0, roll))]
        assert np.allclose((turns[0] @ turns[1] @ turns[2]).as_matrix(), rotation.as_matrix(), atol=1e-8)


def test_a_stage_has_the_schemas_that_simulators_read(store: Store, tmp_path: Path) -> None:
    """USD's own parser finds bodies, joints with limits in degrees, colliders, one articulation; splats are typed."""
    from pxr import Usd, UsdPhysics

    twin = sample_twin(store)
    scene = export_scene(twin, store)
    export_twin(twin, store, ("usd",), tmp_path / "out")
    stage = Usd.Stage.Open(str(tmp_path / "out" / "usd" / "scene.usdz"))
    found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/World"])
    kinds = UsdPhysics.ObjectType
    assert len(found[kinds.RigidBody][0]) == len(scene.links) + 1
    assert len(found[kinds.RevoluteJoint][0]) == 6
    assert len(found[kinds.Articulation][0]) == 1
    assert len(found[kinds.MeshShape][0]) >= len(twin.colliders["t_block"])
    assert len(found[kinds.PlaneShape][0]) == 1
    limits = found[kinds.RevoluteJoint][1][0].limit
    low, high = scene.model.jnt_range[0]
    assert math.isclose(limits.lower, math.degrees(low), rel_tol=1e-6)
    assert math.isclose(limits.upper, math.degrees(high), rel_tol=1e-6)
    types = [prim.GetTypeName() for prim in stage.Traverse()]
    assert types.count("ParticleField3DGaussianSplat") == 2  # block and table
    assert types.count("Camera") == 2


def test_glb_stands_upright_in_y(store: Store, tmp_path: Path) -> None:
    """Heights of the twin are y in the file, and an object keeps its shape."""
    twin = block_twin(store, {})
    export_twin(twin, store, ("glb",), tmp_path / "out")
    found = read_mesh(tmp_path / "out" / "glb" / "objects" / "t_block.glb").vertices
    expected = twin.reconstruction.objects["t_block"].vertices
    assert np.allclose(found, expected[:, [0, 2, 1]] * [1.0, 1.0, -1.0], atol=1e-7)


def test_rollouts_with_images_become_a_dataset(store: Store, tmp_path: Path) -> None:
    """Numbers and frames of two episodes of the twin are read back; poses are those of the simulation."""
    scene = export_scene(sample_twin(store), store)
    episode = held_episode(scene)
    assert episode.domain is Domain.TWIN
    assert np.ptp(episode.object_poses["t_block"].translation, axis=0).max() < 1e-3  # it lies where it was
    frames = [np.full((16, 32, 3), 2 * step, np.uint8) for step in range(len(episode.times_s))]
    names = joint_names(scene)
    notes = RobotNotes(names, action_names(scene), "arm", joint_units=dict.fromkeys(names, "rad"))
    with Recorder(tmp_path / "set", notes, fps=25.0) as recorder:
        for _ in range(2):
            recorder.add(episode, {"front": frames})
    source = open_source(tmp_path / "set")
    problems: list[object] = []
    found = list(source.episodes(problems.append))
    assert (len(found), problems) == (2, [])
    for each in found:
        np.testing.assert_array_equal(each.state, episode.joint_positions.astype(np.float32))
    assert [camera.name for camera in source.layout.cameras] == ["front"]
    assert (source.layout.cameras[0].width, source.layout.cameras[0].height) == (32, 16)


def test_the_twin_as_a_dataset_is_one_episode_that_holds_still(store: Store, tmp_path: Path) -> None:
    """Joints, commands and units are the twin's, nothing moves, and the report says what records a policy instead."""
    twin = sample_twin(store)
    scene = export_scene(twin, store)
    (report,) = export_twin(twin, store, ("lerobot",), tmp_path / "out")
    assert report.is_verified
    source = open_source(tmp_path / "out" / "lerobot")
    (episode,) = source.episodes(lambda _: None)
    assert source.layout.joint_names == joint_names(scene)
    assert source.layout.action_names == action_names(scene)
    assert {source.layout.declared_scales[name].unit for name in joint_names(scene)} == {"rad"}
    assert episode.task == "hold still"
    assert np.ptp(episode.state, axis=0).max() < 0.1
    command = next(words for words in report.not_carried if "gemel evaluate" in words)
    assert "--robot twin --record NEW_FOLDER" in command
    more = replace(held_episode(scene), joint_positions=episode.state + 1e-3)
    assert not all(check.is_passed for check in verify_lerobot(scene, more, tmp_path / "out" / "lerobot"))


def test_a_servo_behind_a_gear_is_exported_as_the_joint_feels_it(store: Store, tmp_path: Path) -> None:
    """Stiffness and damping go with the square of the gear and the largest force with the gear, as physics has them."""
    scene = export_scene(odd_twin(store, tmp_path), store)
    servos = {link.joint.name: link.joint.servo for link in scene.links if link.joint is not None}
    for name, expected in {
        "swing": (180.0, 9.0, 27.0), "grip": (22.5, 0.0, math.inf), "spin": (0.0, 0.01, math.inf),
    }.items():  # fmt: skip
        servo, felt = servos[name], felt_servo(scene.model, name)
        assert servo is not None
        assert (servo.gain, servo.damping, servo.effort) == pytest.approx(expected)
        assert (felt.gain, felt.damping, felt.effort) == pytest.approx(expected)


def test_a_stage_whose_drives_forget_the_gear_is_not_verified(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stage is compared with the model, so a mistake in what is written cannot hide in what it is compared with."""
    monkeypatch.setattr("gemel.outputs.export.links._servo", lambda model, j: Servo(20.0, 1.0, 9.0))
    (report,) = export_twin(odd_twin(store, tmp_path), store, ("usd",), tmp_path / "out")
    assert [check.what for check in report.checks if not check.is_passed] == ["drives"]


def test_checks_move_joints_behind_gears_as_far_as_others(store: Store, tmp_path: Path) -> None:
    """Commands of the rollouts that files are compared in reach a tenth of a joint's range."""
    model = export_scene(odd_twin(store, tmp_path), store).model
    qpos, _, commands = start(model, has_contacts=False)
    reached = commands[:2] / model.actuator_gear[:2, 0]
    np.testing.assert_allclose(reached - qpos[model.jnt_qposadr[model.actuator_trnid[:2, 0]]], [0.4, 0.005])


TWO_JOINTS = """<mujoco><worldbody><body name="cart"><joint name="x" type="slide" axis="1 0 0"/>
<joint name="y" type="slide" axis="0 1 0"/><geom size="0.1"/></body></worldbody></mujoco>"""


def test_a_link_with_two_joints_is_refused_by_urdf_and_carried_by_mjcf(store: Store, tmp_path: Path) -> None:
    """The error names the link and the way out."""
    path = tmp_path / "cart.xml"
    path.write_text(TWO_JOINTS)
    twin = robot_twin(store, read_robot_model(path, store))
    with pytest.raises(ConfigError, match=r"'cart' moves by 2 joint") as caught:
        export_twin(twin, store, ("mjcf", "urdf"), tmp_path / "out")
    assert "mjcf" in caught.value.remedy
    assert not (tmp_path / "out").exists()
    assert export_twin(twin, store, ("mjcf",), tmp_path / "out")[0].is_verified


BAD_ROBOTS = {
    "arm.xml": ('<mujoco><asset><mesh name="m" file="gone.stl"/></asset><worldbody><body><geom type="mesh" mesh="m"/>'
                "</body></worldbody></mujoco>", "gone.stl"),
    "arm.urdf": ('<robot name="r"><link name="a"><collision><geometry><mesh filename="package://p/gone.stl"/></geometry>'
                 '</collision></link></robot>', "gone.stl"),
    "loose.urdf": ('<robot name="r"><link name="a"/><joint name="j" type="revolute"><parent link="a"/>'
                   '<child link="b"/></joint></robot>', "b"),
    "servo.xml": ('<mujoco><worldbody/><actuator><position joint="gone"/></actuator></mujoco>', "gone"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_ROBOTS)
def test_robot_models_with_missing_parts_are_refused_with_their_name(name: str, store: Store, tmp_path: Path) -> None:
    """A mesh, a link or a joint that is not there is named in the error."""
    text, missing = BAD_ROBOTS[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SourceError, match=missing):
        read_robot_model(path, store)


def test_joints_that_the_robot_model_lacks_are_refused(store: Store, tmp_path: Path) -> None:
    """A twin that names joints of another robot is an error, not a traceback."""
    twin = sample_twin(store)
    with pytest.raises(ConfigError, match="elbow"):
        export_twin(replace(twin, joints=("elbow", *twin.joints[1:])), store, ("mjcf",), tmp_path / "out")


@pytest.mark.slow
def test_the_trossen_mobile_ai_is_the_robot_of_a_twin(shared_data: Path, store: Store, tmp_path: Path) -> None:
    """Both grippers, three cameras, wheels and a free base compile and are verified; a stage has its cameras too."""
    from pxr import Usd, UsdGeom

    model = shared_data / "trossen_models" / "mobile_ai" / "mobile_ai.xml"
    if not model.exists():
        pytest.skip("needs trossen_models in ../shared/data")
    twin = robot_twin(store, read_robot_model(model, store))
    scene = export_scene(twin, store)
    cameras = {scene.model.camera(i).name for i in range(scene.model.ncam)}
    assert {"cam_high", "cam_left_wrist", "cam_right_wrist"} <= cameras
    fingers = [link for link in scene.links if "carriage" in link.name]
    assert len(fingers) == 4
    assert sum(link.joint is not None and link.joint.follows is not None for link in fingers) == 2
    assert all(scene.contact("t_block", f"{side}_gripper") is not None for side in ("left", "right"))
    reports = export_twin(twin, store, ("mjcf", "urdf", "usd"), tmp_path / "out")
    assert [str(c) for report in reports for c in report.checks if not c.is_passed] == []
    stage = Usd.Stage.Open(str(tmp_path / "out" / "usd" / "scene.usda"))
    seen = {p.GetName(): str(p.GetPath().GetParentPath()) for p in stage.Traverse() if p.IsA(UsdGeom.Camera)}
    assert {"cam_high", "cam_left_wrist", "cam_right_wrist"} <= {*seen}
    assert seen["cam_left_wrist"].startswith("/World/Robot/Links/")
    followers = [p for p in stage.Traverse() if p.HasAttribute("physxMimicJoint:rotX:gearing")]
    assert len(followers) == 2
