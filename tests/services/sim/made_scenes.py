"""Small scenes with known answers."""

from typing import Any

OPTION = '<option timestep="0.002" integrator="implicitfast" cone="elliptic" impratio="10"/>'


def scene(bodies: str, pairs: str = "", rest: str = "", *, option: str = OPTION) -> Any:
    """A compiled model; geoms touch only in pairs."""
    import mujoco

    return mujoco.MjModel.from_xml_string(
        f'<mujoco>{option}<default><geom contype="0" conaffinity="0"/></default>'
        f"<worldbody>{bodies}</worldbody><contact>{pairs}</contact>{rest}</mujoco>"
    )


def pair(first: str, second: str, friction: float = 0.5, *, dimension: int = 3, name: str = "") -> str:
    """One explicit contact."""
    return (
        f'<pair name="{name or f"{first}-{second}"}" geom1="{first}" geom2="{second}" condim="{dimension}" '
        f'friction="{friction} {friction} 0.005 0.0001 0.0001"/>'
    )


def box_on_table(*, simple: str = "false") -> Any:
    """A box of 1 kg on a plane, with a force sensor between the two."""
    return scene(
        '<geom name="table" type="plane" size="5 5 0.1"/>'
        f'<body name="block" pos="0 0 0.02" simple="{simple}"><freejoint name="block"/>'
        '<geom name="block" type="box" size="0.05 0.05 0.02" mass="1"/></body>',
        pair("block", "table", dimension=4),
        '<sensor><contact name="contact/block-table" body1="block" geom2="table" data="force" reduce="netforce"/>'
        "</sensor>",
    )


def plank_over_edge(*, simple: str = "false") -> Any:
    """A plank of 20 cm whose middle lies on the table's edge at x = 0."""
    return scene(
        '<geom name="table" type="box" size="0.5 0.5 0.05" pos="-0.5 0 -0.05"/>'
        f'<body name="plank" pos="0 0 0.01" simple="{simple}"><freejoint name="plank"/>'
        '<geom name="plank" type="box" size="0.1 0.03 0.01" mass="0.3"/></body>',
        pair("plank", "table"),
    )


def turntable() -> Any:
    """A body on a vertical hinge, turned by a motor, and an object's lid on a hinge of its own."""
    return scene(
        '<body name="disc" simple="false"><joint name="turn" axis="0 0 1"/>'
        '<inertial pos="0 0 0" mass="2" diaginertia="0.03 0.02 0.04"/></body>'
        '<body name="lid" pos="1 0 0"><joint name="lid_hinge" axis="0 0 1"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="0.02 0.02 0.02"/></body>',
        rest='<actuator><motor name="turn" joint="turn"/></actuator>',
        option='<option timestep="0.001" integrator="implicitfast" gravity="0 0 0"/>',
    )


def servo_arm() -> Any:
    """Two joints with position servos, a hinge and a slide, without gravity."""
    return scene(
        '<body name="upper"><joint name="hinge" axis="0 0 1" damping="0.1"/>'
        '<geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="1"/>'
        '<body name="lower" pos="0.3 0 0"><joint name="slide" type="slide" axis="0 1 0.2" '
        'pos="0.01 0 0"/><geom type="box" size="0.05 0.02 0.02" mass="0.3"/></body></body>',
        rest='<actuator><position name="hinge_servo" joint="hinge" kp="300" kv="20"/>'
        '<position name="slide_servo" joint="slide" kp="800" kv="40"/></actuator>',
        option=OPTION.replace("/>", ' gravity="0 0 0"/>'),
    )
