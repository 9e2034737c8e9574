"""Robot descriptions: MJCF and URDF compile, keep all their files, and give limits in SI; damage is named."""

import math
import struct
from pathlib import Path

import numpy as np
import pytest

from gemel.artifacts.robot import RobotJoint
from gemel.errors import SourceError
from gemel.services.formats.robot_model import compile_robot, match_joints, read_robot_model, robot_joints
from services.formats.conftest import MemoryBlobs

MJCF = """
<mujoco><compiler angle="degree" meshdir="assets"/>
  <asset><mesh name="m" file="part.stl"/></asset>
  <worldbody>
    <body name="loose"><freejoint name="float"/><geom size="0.1"/></body>
    <body name="upper"><joint name="shoulder" range="-90 45"/><geom type="mesh" mesh="m"/>
      <body name="lower"><joint name="slider" type="slide" range="0 0.3"/><geom size="0.1"/>
        <body name="ball"><joint name="wrist" type="ball"/><geom size="0.1"/>
          <body name="hand"><joint name="spin"/><geom size="0.1"/></body></body></body></body>
  </worldbody></mujoco>
"""
URDF = """
<robot name="arm">
  <link name="base"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <collision><geometry><mesh filename="package://robot/part.stl"/></geometry></collision></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1.5" upper="0.5" effort="1" velocity="1"/></joint>
</robot>
"""


def _tetrahedron_stl() -> bytes:
    corners = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], dtype="<f4")
    triangles = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(np.zeros(3, "<f4").tobytes() + corners[list(t)].tobytes() + b"\0\0" for t in triangles)
    return b"\0" * 80 + struct.pack("<I", len(triangles)) + body


@pytest.fixture
def mjcf(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "part.stl").write_bytes(_tetrahedron_stl())
    path = tmp_path / "robot.xml"
    path.write_text(MJCF)
    return path


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    (tmp_path / "part.stl").write_bytes(_tetrahedron_stl())
    path = tmp_path / "robot.urdf"
    path.write_text(URDF)
    return path


def test_mjcf_joints_are_in_si_and_free_joints_left_out(mjcf: Path, blobs: MemoryBlobs) -> None:
    """Degrees of the file become radians; slides stay metres; unlimited is infinite; free and ball have no number."""
    robot = read_robot_model(mjcf, blobs)
    assert (robot.name, robot.format, robot.root) == ("robot", "mjcf", "robot.xml")
    shoulder, slider, spin = robot.joints
    assert (shoulder.name, shoulder.kind) == ("shoulder", "hinge")
    assert (shoulder.low, shoulder.high) == pytest.approx((-math.pi / 2, math.pi / 4))
    assert slider == RobotJoint("slider", "slide", 0.0, 0.3)
    assert spin == RobotJoint("spin", "hinge", -math.inf, math.inf)
    assert robot.links == ("loose", "upper", "lower", "ball", "hand")


def test_mjcf_is_kept_with_its_meshes(mjcf: Path, blobs: MemoryBlobs) -> None:
    """The stored files alone compile to the same joints."""
    robot = read_robot_model(mjcf, blobs)
    assert set(robot.files) == {"robot.xml", "assets/part.stl"}
    copy = mjcf.parent / "copy"
    for relative, ref in robot.files.items():
        (copy / relative).parent.mkdir(parents=True, exist_ok=True)
        (copy / relative).write_bytes(blobs.get_bytes(ref))
    assert robot_joints(compile_robot(copy / robot.root)) == robot.joints


def test_urdf_with_a_package_path(urdf: Path, blobs: MemoryBlobs) -> None:
    """Radians stay radians, and the mesh behind `package://` is found above the file and kept."""
    (urdf.parent / "urdf").mkdir()
    urdf = urdf.rename(urdf.parent / "urdf" / "robot.urdf")
    robot = read_robot_model(urdf, blobs)
    assert robot.format == "urdf"
    assert robot.joints == (RobotJoint("elbow", "hinge", -1.5, 0.5),)
    assert set(robot.files) == {"urdf/robot.urdf", "part.stl"}
    assert robot.root == "urdf/robot.urdf"


def test_the_trossen_model(shared_data: Path, blobs: MemoryBlobs) -> None:
    """A real bimanual platform with includes and meshes in a folder beside it."""
    path = next((shared_data / "trossen_models").glob("mobile_ai/*.xml"))
    robot = read_robot_model(path, blobs)
    assert len(robot.joints) >= 14
    assert any(name.endswith((".stl", ".obj", ".STL")) for name in robot.files)
    hinges = [joint for joint in robot.joints if joint.kind == "hinge" and math.isfinite(joint.low)]
    assert hinges
    assert all(abs(joint.low) <= 2 * math.pi + 1e-6 for joint in hinges)


@pytest.mark.parametrize("name", ["mjcf", "urdf"])
def test_a_missing_mesh_is_named(name: str, request: pytest.FixtureRequest) -> None:
    """The message names the model and the mesh."""
    path: Path = request.getfixturevalue(name)
    next(path.parent.rglob("part.stl")).unlink()
    with pytest.raises(SourceError, match=r"robot\.(xml|urdf) does not compile.*part\.stl"):
        compile_robot(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has 0 bytes"),
        (b"not xml at all", "does not compile"),
        (b"\0\xff" * 100, "does not compile"),
        (b"<mujoco><worldbody>", "does not compile"),
        (b"<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "does not compile"),
        (b"<other/>", "does not compile"),
        (b"<robot><link/></robot>", "does not compile"),
    ],
)
def test_damaged_models(data: bytes, message: str, tmp_path: Path) -> None:
    """What MuJoCo says, in one line, with the file's name and what to do."""
    path = tmp_path / "broken.xml"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=message) as caught:
        compile_robot(path)
    assert "broken.xml" in caught.value.problem
    assert "\n" not in caught.value.problem
    assert caught.value.remedy


def test_no_model(tmp_path: Path) -> None:
    """A path that is not there, or a folder."""
    for path in (tmp_path / "none.xml", tmp_path):
        with pytest.raises(SourceError, match="There is no robot model at"):
            compile_robot(path)


def test_joints_match_by_name_with_or_without_pos() -> None:
    """LeRobot's `.pos` is taken off where the model lacks it; the exact name comes first."""
    assert match_joints(("a.pos", "b", "c.pos", "x"), ("a", "b", "c.pos", "c")) == {
        "a.pos": "a", "b": "b", "c.pos": "c.pos",
    }  # fmt: skip
