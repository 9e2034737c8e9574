"""Which parts of a robot it works with."""

import pytest

from gemel.services.sim.contacts import robot_parts, tool_labels

_ARM = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="base"><geom size="0.1"/>
<body name="upper"><joint/><geom size="0.1"/><body name="lower"><joint/><geom name="forearm" size="0.1"/>
{tools}</body></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ('<body name="stick"><joint/><geom name="pusher" size="0.1"/></body>', ("pusher",)),
        ('<body name="stick"><geom name="pusher" size="0.1"/></body>', ("pusher",)),
        (
            '<body name="finger_left"><joint/><geom size="0.1"/></body>'
            '<body name="finger_right"><joint/><geom size="0.1"/></body>',
            ("gripper",),
        ),
        ('<body name="cable"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>', ("forearm",)),
    ],
)
def test_tools_are_the_last_parts_that_can_touch(tools: str, expected: tuple[str, ...]) -> None:
    """A stick that is welded on or moves, two fingers as one gripper; what cannot touch is no tool."""
    import mujoco

    spec = mujoco.MjSpec.from_string(_ARM.format(tools=tools))
    assert tool_labels(spec) == expected


_PAIR = '<mujoco><worldbody><body name="frame"><joint/><geom name="mast" size="0.1"/>{arms}</body></worldbody></mujoco>'
_HAND = """<body name="{arm}_link_5"><joint/><geom size="0.1"/><body name="{arm}_link_6"><joint/>
<geom name="{arm}_gripper_palm" size="0.1"/>
<body name="{arm}_carriage_left"><joint/><geom name="{arm}_gripper_left" size="0.1"/></body>
<body name="{arm}_finger_right"><joint/><geom size="0.1"/></body></body></body>"""


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        (("follower_left", "follower_right"), {"left_gripper", "right_gripper"}),
        (("arm1", "arm2"), {"arm1_gripper", "arm2_gripper"}),
        (("only",), {"gripper"}),
        (("a", "a_b"), {"a_link_5_gripper", "a_b_link_5_gripper"}),
    ],
)
def test_each_arm_has_a_gripper_of_its_own(arms: tuple[str, ...], expected: set[str]) -> None:
    """Palm and fingers are one part, which is named after its arm where there are several."""
    import mujoco

    spec = mujoco.MjSpec.from_string(_PAIR.format(arms="".join(_HAND.format(arm=arm) for arm in arms)))
    grippers = {part.label: part for part in robot_parts(spec) if part.is_gripper}
    assert set(grippers) == expected
    assert {len(part.geoms) for part in grippers.values()} == {3}
