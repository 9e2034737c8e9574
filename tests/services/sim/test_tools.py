"""Which parts of a robot it works with."""

import pytest

from gemel.services.sim.contacts import tool_labels

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
