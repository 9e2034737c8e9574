"""Which logged joints make an arm, what opens its gripper, and where its tool is."""

from pathlib import Path
from typing import Any

import pytest

from gemel.artifacts.capture import JointSignal, UnitSource
from gemel.errors import ConfigError
from gemel.services.kinematics.arms import Arm, find_arms
from gemel.services.kinematics.tool_point import tool_point
from gemel.services.kinematics.tree import kinematic_tree

mujoco = pytest.importorskip("mujoco")

_GEOM = '<geom type="sphere" size="0.01"/>'


def _chain(side: str, fingers: str) -> str:
    """Two hinges, and two slides without a telling name that hold things between them."""
    return f"""<body name="{side}_shoulder"><joint name="{side}1" axis="0 0 1"/>{_GEOM}
    <body name="{side}_wrist" pos="0.2 0 0"><joint name="{side}2" axis="0 1 0"/>{_GEOM}
    <body name="{side}_plate" pos="0 0 0.1" euler="0 90 0"><site name="{side}_tcp" pos="0 0 0.05"/></body>
    <body name="{side}_p"><joint name="{side}p" type="slide" axis="0 1 0"/>{_GEOM}</body>
    {fingers}</body></body>"""


def _robot(between: str = "") -> Any:
    """Both arms on one base, each gripper moved in another way: two slides side by side, one joint that is followed."""
    right = f'<body name="right_q"><joint name="rightq" axis="1 0 0"/>{_GEOM}</body>'
    left = (
        '<body name="left_q"><joint name="leftq" type="slide" axis="0 -1 0"/><geom type="sphere" size="0.01"/></body>'
    )
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><body name="cart">{_GEOM}{between}{_chain("left", left)}{_chain("right", right)}
        {"</body>" if between else ""}</body></worldbody>
        <equality><joint joint1="rightq" joint2="rightp"/></equality></mujoco>"""
    )


def _find(model: Any, names: list[str], given: dict[str, tuple[str, ...]] | None = None) -> tuple[Arm, ...]:
    signals = [JointSignal(name, "rad", "rad", UnitSource.SOURCE, name) for name in names]
    return find_arms(kinematic_tree(model), names, signals, given or {})


def test_arms_of_one_base_are_told_apart_and_grippers_are_not_flanges() -> None:
    """Slides side by side and joints that are followed hold things; the last hinge before them moves the flange."""
    model = _robot()
    names = ["left1", "left2", "leftp", "right1", "right2", "rightp"]
    left, right = _find(model, names)
    assert (left.name, left.columns, left.grippers, left.link) == ("left", (0, 1, 2), (2,), "left_wrist")
    assert (right.name, right.columns, right.grippers, right.link) == ("right", (3, 4, 5), (5,), "right_wrist")
    assert {arm.name for arm in _find(model, names[:3])} == {"arm"}


def test_joints_before_a_branch_are_an_arm_of_their_own() -> None:
    """A torso that carries both arms is compared once."""
    lift = f'<body name="torso"><joint name="lift" type="slide" axis="0 0 1"/>{_GEOM}'
    arms = _find(_robot(lift), ["lift", "left1", "left2", "right1", "right2"])
    assert [(arm.name, arm.columns, arm.link) for arm in arms] == [
        ("torso", (0,), "torso"), ("left", (1, 2), "left_wrist"), ("right", (3, 4), "right_wrist"),
    ]  # fmt: skip


def test_two_slides_one_on_the_other_are_no_gripper() -> None:
    """A gantry's last slide carries the tool."""
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><body name="x"><joint name="x" type="slide" axis="1 0 0"/>{_GEOM}<body name="y">
        <joint name="y" type="slide" axis="0 1 0"/>{_GEOM}</body></body></worldbody></mujoco>"""
    )
    (arm,) = _find(model, ["x", "y"])
    assert (arm.grippers, arm.link) == ((), "y")


def test_a_joint_belongs_to_one_arm_and_no_arm_is_called_all() -> None:
    model = _robot()
    for given, problem in (
        ({"one": ("left1",), "two": ("left1",)}, "in 'one' and in 'two'"),
        ({"all": ("left1",)}, "stands for all arms together"),
    ):
        with pytest.raises(ConfigError, match=problem):
            _find(model, ["left1"], given)


def test_the_tool_is_a_mark_that_is_fixed_to_the_flange() -> None:
    """A site on a plate of the wrist; without any mark the flange itself."""
    model = _robot()
    marked = tool_point(model, "left_wrist")
    assert (marked.kind, marked.name, marked.body) == ("site", "left_tcp", "left_plate")
    assert "site 'left_tcp' on left_plate" in marked.words
    bare = tool_point(model, "left_p")
    assert (bare.kind, bare.body) == ("flange", "left_p")
    assert tool_point(model, "left_shoulder").kind == "flange"  # the mark turns with the wrist


def test_the_mobile_ai_has_two_arms_with_grippers(shared_data: Path) -> None:
    """Its 14 logged joints: six hinges and one of two coupled carriages on each side."""
    path = shared_data / "trossen_models" / "mobile_ai" / "mobile_ai.xml"
    if not path.exists():
        pytest.skip("needs the Trossen models")
    model = mujoco.MjModel.from_xml_path(str(path))
    names = [
        name for side in ("left", "right")
        for name in (*(f"follower_{side}_joint_{i}" for i in range(6)), f"follower_{side}_left_carriage_joint")
    ]  # fmt: skip
    arms = _find(model, names)
    assert [(a.name, a.columns, a.grippers, a.link) for a in arms] == [
        ("left", tuple(range(7)), (6,), "follower_left_link_6"),
        ("right", tuple(range(7, 14)), (13,), "follower_right_link_6"),
    ]  # fmt: skip
    assert [tool_point(model, arm.link).name for arm in arms] == ["follower_left_ee_site", "follower_right_ee_site"]
