"""The arms as MJCF, from tables of joints and primitive shapes; the same text goes to the user as the robot model.

Two machines. The push arm is our own: six joints, a spherical wrist and a cylindrical pusher. The pair of gripper arms
has the joint origins, axes and limits of the WidowX AI arms (Trossen Robotics, `mobile_ai.xml`), with primitive
geometry of our own.
"""

import math
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Shape:
    """A primitive on a link."""

    kind: str
    """`cylinder`, `capsule`, `box` or `sphere`."""
    size: tuple[float, ...]
    """MuJoCo's sizes: radius and half length, or half edges [m]."""
    position: Vector = (0.0, 0.0, 0.0)
    euler_deg: Vector = (0.0, 0.0, 0.0)
    material: str = "arm_light"
    """`arm_light`, `arm_dark`, `metal` or `rubber`."""
    is_solid: bool = False
    """Whether it takes part in contact."""
    name: str = ""


@dataclass(frozen=True)
class Link:
    """A body that hangs on its predecessor by one joint."""

    name: str
    joint: str
    position: Vector
    """Origin in the frame of the link before [m]."""
    axis: Vector
    range_rad: tuple[float, float]
    mass_kg: float
    shapes: tuple[Shape, ...]
    kp: float
    kv: float
    torque: float
    """[N·m]"""
    armature: float = 0.05


PUSHER_RADIUS = 0.010
PUSH_ARM_HOME = (0.0, -0.35, 1.75, 0.0, 1.7416, 0.0)
"""Tip down over the table in front of the base [rad]."""

PUSH_ARM = (
    Link("link1", "joint1", (0.0, 0.0, 0.10), (0.0, 0.0, 1.0), (-2.9, 2.9), 2.0, (
        Shape("cylinder", (0.055, 0.06), (0.0, 0.0, 0.05), material="arm_light"),
        Shape("cylinder", (0.052, 0.075), (0.0, 0.0, 0.11), (90.0, 0.0, 0.0), "arm_dark")), 1200.0, 80.0, 120.0),
    Link("link2", "joint2", (0.0, 0.0, 0.11), (0.0, 1.0, 0.0), (-2.0, 2.2), 2.5, (
        Shape("capsule", (0.042, 0.16), (0.0, 0.06, 0.20), material="arm_light"),
        Shape("cylinder", (0.046, 0.07), (0.0, 0.02, 0.40), (90.0, 0.0, 0.0), "arm_dark")), 1200.0, 80.0, 120.0),
    Link("link3", "joint3", (0.0, 0.0, 0.40), (0.0, 1.0, 0.0), (-2.8, 2.8), 1.5, (
        Shape("capsule", (0.034, 0.13), (0.0, -0.03, 0.16), material="arm_light"),), 900.0, 60.0, 90.0),
    Link("link4", "joint4", (0.0, 0.0, 0.28), (0.0, 0.0, 1.0), (-2.9, 2.9), 0.7, (
        Shape("cylinder", (0.033, 0.04), (0.0, -0.005, 0.045), material="arm_dark"),), 400.0, 25.0, 30.0, 0.02),
    Link("link5", "joint5", (0.0, 0.0, 0.10), (0.0, 1.0, 0.0), (-2.7, 2.7), 0.5, (
        Shape("cylinder", (0.033, 0.045), (0.0, 0.0, 0.0), (90.0, 0.0, 0.0), "arm_light"),), 400.0, 25.0, 30.0, 0.02),
    Link("link6", "joint6", (0.0, 0.0, 0.06), (0.0, 0.0, 1.0), (-3.1, 3.1), 0.4, (
        Shape("cylinder", (0.030, 0.025), (0.0, 0.0, 0.0), material="arm_dark"),
        Shape("box", (0.012, 0.034, 0.010), (0.070, 0.0, 0.010), (0.0, 0.0, 0.0), "camera"),
        Shape("box", (0.022, 0.012, 0.006), (0.042, 0.0, -0.004), (0.0, 0.0, 0.0), "arm_dark"),
        Shape("cylinder", (PUSHER_RADIUS, 0.065), (0.0, 0.0, 0.085), material="metal", is_solid=True, name="pusher"),
    ), 300.0, 15.0, 20.0, 0.01),
)  # fmt: skip
PUSH_ARM_BASE = (
    Shape("cylinder", (0.075, 0.05), (0.0, 0.0, 0.05), material="arm_dark"),
    Shape("box", (0.10, 0.10, 0.006), (0.0, 0.0, 0.006), material="metal"),
)
TIP_POSITION: Vector = (0.0, 0.0, 0.15)
"""Lower end of the pusher in link6 [m]."""

GRIPPER_ARM_HOME = (0.0, 1.05, 1.05, -0.55, 0.0, 0.0)
"""Gripper in front of the arm, level [rad]."""
FINGER_TRAVEL = 0.044
"""Largest opening of one finger [m]."""


def gripper_arm(side: str) -> tuple[Link, ...]:
    """One arm of the pair; origins, axes and limits from Trossen's `mobile_ai.xml`."""
    p = f"{side}_"
    small = {"kp": 150.0, "kv": 6.0, "torque": 14.0, "armature": 0.01}
    large = {"kp": 600.0, "kv": 35.0, "torque": 54.0, "armature": 0.032}
    return (
        Link(p + "link_1", p + "joint_0", (0.0, 0.0, 0.05725), (0.0, 0.0, 1.0), (-3.05433, 3.05433), 0.153, (
            Shape("cylinder", (0.034, 0.022), (0.0, 0.0, 0.022), material="arm_dark"),), **large),
        Link(p + "link_2", p + "joint_1", (0.02, 0.0, 0.04625), (0.0, 1.0, 0.0), (0.0, 3.14159), 1.153, (
            Shape("cylinder", (0.031, 0.032), (0.0, 0.0, 0.0), (90.0, 0.0, 0.0), "arm_dark"),
            Shape("box", (0.115, 0.021, 0.022), (-0.132, 0.0, 0.0), material="arm_light")), **large),
        Link(p + "link_3", p + "joint_2", (-0.264, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 2.35619), 0.687, (
            Shape("cylinder", (0.031, 0.032), (0.0, 0.0, 0.0), (90.0, 0.0, 0.0), "arm_dark"),
            Shape("box", (0.034, 0.018, 0.018), (0.025, 0.0, 0.032), (0.0, -50.0, 0.0), "arm_light"),
            Shape("box", (0.095, 0.019, 0.020), (0.140, 0.0, 0.060), material="arm_light")), **large),
        Link(p + "link_4", p + "joint_3", (0.245, 0.0, 0.06), (0.0, -1.0, 0.0), (-1.5708, 1.5708), 0.458, (
            Shape("cylinder", (0.027, 0.030), (0.0, 0.0, 0.0), (90.0, 0.0, 0.0), "arm_dark"),
            Shape("box", (0.036, 0.018, 0.016), (0.040, 0.0, 0.044), (0.0, 0.0, 0.0), "arm_light")), **small),
        Link(p + "link_5", p + "joint_4", (0.06775, 0.0, 0.0455), (0.0, 0.0, -1.0), (-1.5708, 1.5708), 0.367, (
            Shape("cylinder", (0.027, 0.034), (0.0, 0.0, -0.030), material="arm_dark"),), **small),
        Link(p + "link_6", p + "joint_5", (0.02895, 0.0, -0.0455), (1.0, 0.0, 0.0), (-3.14159, 3.14159), 0.672, (
            Shape("cylinder", (0.027, 0.028), (0.030, 0.0, 0.0), (0.0, 90.0, 0.0), "arm_light"),
            Shape("box", (0.012, 0.090, 0.028), (0.0685, 0.0, 0.0), material="arm_dark"),
            Shape("box", (0.0115, 0.021, 0.012), (0.0513, 0.0, 0.0569), (0.0, 20.0, 0.0), "camera")), **small),
    )  # fmt: skip


def fingers(side: str) -> str:
    """Two carriages that slide apart together, with pads of our own."""
    parts = []
    for name, y in (("right", -1.0), ("left", 1.0)):
        body = f"{side}_finger_{name}"
        parts.append(
            f'<body name="{body}" pos="0.0865 {y * 0.012} 0" gravcomp="1">'
            f'<inertial pos="0.03 0 0" mass="0.08" diaginertia="4e-5 4e-5 3e-5"/>'
            f'<joint name="{body}_slide" type="slide" axis="0 {y} 0" range="0 {FINGER_TRAVEL}" '
            f'armature="0.1" damping="5"/>'
            f'<geom type="box" size="0.032 0.006 0.012" pos="0.036 {y * 0.004} 0" material="arm_dark" '
            f'contype="0" conaffinity="0" mass="0"/>'
            f'<geom name="{body}_pad" type="box" size="0.014 0.005 0.012" pos="0.060 {-y * 0.007} 0" '
            f'material="rubber" contype="1" conaffinity="1" condim="4" friction="1 0.02 0.001" '
            f'solref="0.01 1" mass="0"/></body>'
        )
    return "".join(parts)


GRIP_CENTRE: Vector = (0.1465, 0.0, 0.0)
"""Middle between the pads in link_6 [m]."""


def link_chain(links: tuple[Link, ...], innermost: str) -> str:
    """Nested bodies; `innermost` is put inside the last one."""
    text = innermost
    for link in reversed(links):
        text = f'<body name={quoteattr(link.name)} pos={_row(link.position)} gravcomp="1">{_joint(link)}' + (
            f"{''.join(shape_xml(shape) for shape in link.shapes)}{text}</body>"
        )
    return text


def _joint(link: Link) -> str:
    inertia = _row(tuple(link.mass_kg * r for r in (0.004, 0.004, 0.002)))
    return (
        f"<joint name={quoteattr(link.joint)} axis={_row(link.axis)} range={_row(link.range_rad)} "
        f'armature="{link.armature}" damping="0.5"/>'
        f'<inertial pos={_row(link.shapes[0].position)} mass="{link.mass_kg}" diaginertia={inertia}/>'
    )


def shape_xml(shape: Shape) -> str:
    """One geom; those that are only seen have no contacts."""
    name = f" name={quoteattr(shape.name)}" if shape.name else ""
    bits = "1" if shape.is_solid else "0"
    euler = _row(tuple(math.radians(angle) for angle in shape.euler_deg))
    return (
        f'<geom{name} type="{shape.kind}" size={_row(shape.size)} pos={_row(shape.position)} euler={euler} '
        f'material="{shape.material}" contype="{bits}" conaffinity="{bits}" mass="0"/>'
    )


def actuators(links: tuple[Link, ...], torque_scale: float) -> str:
    """One position servo for each joint."""
    return "".join(
        f'<position name={quoteattr(link.joint)} joint={quoteattr(link.joint)} kp="{link.kp}" kv="{link.kv}" '
        f'forcerange="{-torque_scale * link.torque} {torque_scale * link.torque}"/>'
        for link in links
    )


def _row(values: tuple[float, ...]) -> str:
    return '"' + " ".join(f"{value:.9g}" for value in values) + '"'
