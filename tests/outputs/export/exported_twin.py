"""A small twin with everything that an export has to carry: looks, a robot, cameras, a drawn belief."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from gemel.artifacts.blob import Blobs
from gemel.artifacts.camera import Camera
from gemel.artifacts.reconstruction import ArticulatedObject
from gemel.artifacts.robot import RobotModel
from gemel.artifacts.splatmesh import SplatMesh
from gemel.artifacts.twin import Twin
from gemel.geometry import SE3, SO3, Inertia, Pinhole, box_mesh
from gemel.services.formats.image_file import encode_png
from gemel.services.formats.obj_mesh import write_obj
from gemel.services.formats.robot_model import read_robot_model
from services.sim.made_twin import at, block_twin, sample_robot, splat_mesh

VALUES = {
    "object/t_block/mass": (0.3, 0.34, 0.4), "object/t_block/com_x": (0.004, 0.006, 0.002),
    "contact/t_block-table/friction": (0.3, 0.45, 0.5), "robot/joint2/damping": (0.7, 0.9, 1.1),
    "robot/joint1/delay": (0.02, 0.03, 0.04),
}  # fmt: skip
ODD_ROBOT = """<mujoco><compiler angle="radian"/><option timestep="0.002"/><worldbody><body name="stand" pos="0 0 0.4">
<geom type="cylinder" size="0.05 0.2" pos="0 0 -0.2"/><camera name="eye" pos="0 0 1"/>
<body name="arm" pos="0 0 0.1" quat="0.9 0.1 0.3 0.2">
<joint name="swing" axis="0.3 1 0.2" pos="0.02 0.01 -0.03" range="-2 2" ref="0.2" damping="0.05" frictionloss="0.01"/>
<geom type="capsule" size="0.02 0.1" pos="0.1 0 0" euler="0 1.57 0"/><geom type="ellipsoid" size="0.03 0.02 0.01"/>
<body name="left_finger" pos="0.2 0 0"><joint name="grip" type="slide" axis="0 1 0" range="0 0.05" damping="1"/>
<geom type="box" size="0.02 0.005 0.01"/></body>
<body name="right_finger" pos="0.2 0 0"><joint name="follow" type="slide" axis="0 -1 0" range="0 0.05" damping="1"/>
<geom type="box" size="0.02 0.005 0.01"/></body>
<body name="wheel" pos="0 0 0.1"><joint name="spin" axis="0 0 1"/><geom type="sphere" size="0.03"/></body>
</body></body></worldbody><equality><joint joint1="follow" joint2="grip" polycoef="0 1 0 0 0"/></equality>
<actuator><position name="s" joint="swing" kp="20" kv="1" forcerange="-9 9" gear="-3"/>
<position name="g" joint="grip" kp="90" gear="0.5"/><velocity name="w" joint="spin" kv="0.01"/></actuator></mujoco>"""
"""Axes off the origin and askew, a rest value, a follower, an endless joint, every primitive, servos behind gears."""

AWKWARD = "rote Tasse (ä) 2"
DRAWER = """<mujoco><worldbody><body name="tray"><joint name="slide" type="slide" axis="1 0 0"/>
<geom name="front" type="box" size="0.1 0.1 0.05" mass="1"/></body></worldbody></mujoco>"""
TEXTURED = """<mujoco><asset><texture name="sky" type="skybox" builtin="gradient" width="64" height="64" rgb1="1 0 0"/>
<texture name="t" type="2d" file="t.png"/><material name="m" texture="t"/><mesh name="b" file="b.obj" scale="1 -1 2"/>
</asset><worldbody><body name="base"><geom type="mesh" mesh="b" material="m"/><body name="l" pos="0 0 0.3">
<joint name="j" axis="0 1 0"/><geom type="mesh" mesh="b" material="m"/></body></body></worldbody></mujoco>"""


def with_looks(mesh: SplatMesh, seed: int = 0) -> SplatMesh:
    """One Gaussian of its own colour in the middle of each face."""
    rng, count = np.random.default_rng(seed), len(mesh.faces)
    return replace(
        mesh, face_from_gaussian=np.arange(count), barycentric=np.full((count, 3), 1.0 / 3.0),
        in_plane_scale=np.ones((count, 2)), sh=rng.uniform(-1.0, 1.0, (count, 1, 3)), opacity=np.full(count, 0.9),
    )  # fmt: skip


def dressed(twin: Twin) -> Twin:
    """The same twin with looks and two cameras."""
    seen = twin.reconstruction
    optics = Pinhole(width=64, height=48, fx=50.0, fy=52.0, cx=30.0, cy=27.0)
    pose = SE3(SO3.exp(np.array([2.2, 0.3, -0.1])), np.array([0.5, -0.4, 0.7]))
    cameras = [Camera("front", 64, 48, optics, T_parent_camera=pose)]
    if twin.robot is not None:
        cameras.append(Camera("wrist", 64, 48, optics, parent=twin.robot.links[-1], T_parent_camera=pose))
    objects = {name: with_looks(mesh) for name, mesh in seen.objects.items()}
    table = None if seen.table is None else with_looks(seen.table, 1)
    return replace(twin, reconstruction=replace(seen, objects=objects, table=table, cameras=tuple(cameras)))


def sample_twin(blobs: Blobs) -> Twin:
    """The T-block beside the arm of the bundled capture."""
    return dressed(block_twin(blobs, VALUES, robot=sample_robot(blobs)))


def robot_twin(blobs: Blobs, robot: RobotModel) -> Twin:
    """The T-block beside another robot, which stands where its file says."""
    twin = block_twin(blobs, {"contact/t_block-table/friction": (0.4,)})
    count = len(robot.joint_names)
    seen = replace(
        twin.reconstruction, joint_offsets=np.zeros(count), joint_offset_sigmas=np.zeros(count),
        joint_plays=np.zeros(count),
    )  # fmt: skip
    return dressed(replace(twin, robot=robot, joints=robot.joint_names, reconstruction=seen))


def two_objects(blobs: Blobs) -> Twin:
    """A box with an awkward name falls on the T-block."""
    twin = dressed(block_twin(blobs, {}))
    vertices, faces = box_mesh((0.05, 0.06, 0.07))
    pose, seen = at(0.45, 0.02, 0.2, 0.3), twin.reconstruction
    return replace(
        twin, colliders={**twin.colliders, AWKWARD: (blobs.put_table({"vertices": vertices}),)},
        initial_poses={**twin.initial_poses, AWKWARD: pose},
        inertias={**twin.inertias, AWKWARD: Inertia.box(0.2, (0.05, 0.06, 0.07))},
        reconstruction=replace(seen, objects={**seen.objects, AWKWARD: with_looks(splat_mesh(vertices, faces))}),
    )  # fmt: skip


def with_drawer(blobs: Blobs) -> Twin:
    """A cupboard with a joint of its own beside the T-block and the arm."""
    twin = sample_twin(blobs)
    drawer = ArticulatedObject("mjcf", blobs.put_bytes(DRAWER.encode()))
    placements = {**twin.reconstruction.placements, "cupboard": at(0.0, 0.6, 0.05)}
    seen = replace(twin.reconstruction, articulated={"cupboard": drawer}, placements=placements)
    return replace(twin, reconstruction=seen)


def textured_robot(blobs: Blobs, folder: Path) -> Twin:
    """A robot whose mirrored, stretched mesh has a picture on it, and a sky that no file holds."""
    vertices, faces = box_mesh((0.1, 0.1, 0.1))
    rng = np.random.default_rng(0)
    (folder / "b.obj").write_bytes(write_obj(vertices, faces, uv=rng.random((len(faces), 3, 2))))
    (folder / "t.png").write_bytes(encode_png(rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)))
    (folder / "textured.xml").write_text(TEXTURED)
    return robot_twin(blobs, read_robot_model(folder / "textured.xml", blobs))


def odd_twin(blobs: Blobs, folder: Path) -> Twin:
    """The T-block beside a robot with all that formats write differently."""
    path = folder / "odd.xml"
    path.write_text(ODD_ROBOT)
    return robot_twin(blobs, read_robot_model(path, blobs))
