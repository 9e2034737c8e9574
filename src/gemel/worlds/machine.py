"""A machine: one or two arms with their places, and the MJCF that describes it.

`machine_mjcf` is what the lab gives to the user as the robot model: nominal joint origins and nominal base poses. The
world itself puts the same bodies at the true base poses, see `scene.py`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gemel.geometry import SE3, SO3
from gemel.worlds import robots
from gemel.worlds.robots import Link, Shape

_MATERIALS = {
    "arm_light": (0.82, 0.83, 0.85),
    "arm_dark": (0.10, 0.11, 0.13),
    "camera": (0.03, 0.03, 0.04),
    "metal": (0.62, 0.62, 0.64),
    "rubber": (0.05, 0.05, 0.05),
}


@dataclass(frozen=True, eq=False)
class Arm:
    """One arm of a machine."""

    name: str
    """Empty for the only arm of a machine."""
    links: tuple[Link, ...]
    base_shapes: tuple[Shape, ...]
    T_world_base: SE3
    """Where the lab says it stands."""
    home: tuple[float, ...]
    """Joint angles between episodes [rad]."""
    T_link_tool: SE3
    """Tool frame in the last link: the pusher's tip, or the middle between the fingers."""
    has_gripper: bool = False

    @property
    def base_name(self) -> str:
        """Body that the first joint sits on."""
        return f"{self.name}_base" if self.name else "base"

    @property
    def tool_link(self) -> str:
        """Last body, which carries tool and wrist camera."""
        return self.links[-1].name

    @property
    def hinge_names(self) -> tuple[str, ...]:
        """Joints from base to tool."""
        return tuple(link.joint for link in self.links)

    @property
    def measured_names(self) -> tuple[str, ...]:
        """Joints as the log lists them; the gripper is one number."""
        return (*self.hinge_names, *((f"{self.name}_gripper",) if self.has_gripper else ()))


@dataclass(frozen=True, eq=False)
class Machine:
    """A robot as the log knows it."""

    name: str
    arms: tuple[Arm, ...]

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """All measured joints, arm by arm."""
        return tuple(name for arm in self.arms for name in arm.measured_names)

    @cached_property
    def is_gripper(self) -> np.ndarray:
        """Which of the measured joints are grippers; (joint,) of bool."""
        return np.array([name.endswith("_gripper") for name in self.joint_names])

    @cached_property
    def home(self) -> np.ndarray:
        """Readings between episodes; grippers open. (joint,)"""
        opened = (robots.FINGER_TRAVEL,)
        return np.array([q for arm in self.arms for q in (*arm.home, *(opened if arm.has_gripper else ()))])

    def is_in_housing(self, link: str, point: np.ndarray) -> bool:
        """Whether a point (3,) in the frame of a link [m] lies inside a camera's housing."""
        boxes = [s for arm in self.arms for part in arm.links if part.name == link for s in part.shapes]
        return any(_holds(shape, point) for shape in boxes if shape.material == "camera")

    def columns(self, arm: Arm) -> slice:
        """Which measured joints are the hinges of an arm."""
        start = self.joint_names.index(arm.hinge_names[0])
        return slice(start, start + len(arm.links))


def _holds(box: Shape, point: np.ndarray) -> bool:
    turns = [SO3.exp(np.radians(angle) * axis) for angle, axis in zip(box.euler_deg, np.eye(3), strict=True)]
    T_link_box = SE3(turns[0] @ turns[1] @ turns[2], np.array(box.position))
    return bool(np.all(np.abs(T_link_box.inverse() @ point) < np.array(box.size)))


def push_machine() -> Machine:
    """Six joints and a cylindrical pusher, at the world's origin, facing +x."""
    tool = SE3(SO3.identity(), np.array(robots.TIP_POSITION))
    arm = Arm("", robots.PUSH_ARM, robots.PUSH_ARM_BASE, SE3.identity(), robots.PUSH_ARM_HOME, tool)
    return Machine("push_arm", (arm,))


def handover_machine() -> Machine:
    """Two six-joint arms with parallel grippers that face each other across the table."""
    tool = SE3(SO3.identity(), np.array(robots.GRIP_CENTRE))
    arms = []
    for name, side in (("left", 1.0), ("right", -1.0)):
        # Left stands at +y and looks towards -y, right the other way round.
        T_world_base = SE3(SO3.exp(np.array([0.0, 0.0, -side * np.pi / 2.0])), np.array([0.0, side * 0.50, 0.0]))
        shapes = (Shape("cylinder", (0.045, 0.030), (0.0, 0.0, 0.030), material="arm_dark"),)
        links, home = robots.gripper_arm(name), robots.GRIPPER_ARM_HOME
        arms.append(Arm(name, links, shapes, T_world_base, home, tool, has_gripper=True))
    return Machine("gripper_arms", tuple(arms))


def machine_mjcf(machine: Machine) -> str:
    """The robot model that a lab hands out: nominal, without scene."""
    bodies = "".join(arm_xml(arm, arm.T_world_base) for arm in machine.arms)
    return wrapped_mjcf(machine.name, bodies, machine_actuators(machine, 1.0), machine_equalities(machine))


def wrapped_mjcf(
    name: str, bodies: str, actuators: str, equalities: str, *, option: str = "", contact: str = ""
) -> str:
    """A complete MJCF text."""
    materials = "".join(f'<material name="{n}" rgba="{r} {g} {b} 1"/>' for n, (r, g, b) in _MATERIALS.items())
    return (
        f'<mujoco model="{name}"><compiler angle="radian" eulerseq="xyz" autolimits="true"/>{option}'
        f"<asset>{materials}</asset><worldbody>{bodies}</worldbody>"
        f"<contact>{contact}</contact><equality>{equalities}</equality><actuator>{actuators}</actuator></mujoco>\n"
    )


def arm_xml(arm: Arm, T_world_base: SE3) -> str:
    """The bodies of one arm, standing at the given pose."""
    x, y, z = T_world_base.translation
    w, i, j, k = T_world_base.rotation.wxyz
    base = "".join(robots.shape_xml(shape) for shape in arm.base_shapes)
    inner = robots.fingers(arm.name) if arm.has_gripper else ""
    return (
        f'<body name="{arm.base_name}" pos="{x:.9g} {y:.9g} {z:.9g}" quat="{w:.12g} {i:.12g} {j:.12g} {k:.12g}">'
        f"{base}{robots.link_chain(arm.links, inner)}</body>"
    )


def machine_actuators(machine: Machine, torque_scale: float) -> str:
    """Servos in the order of the measured joints."""
    text = ""
    for arm in machine.arms:
        text += robots.actuators(arm.links, torque_scale)
        if arm.has_gripper:
            text += (
                f'<position name="{arm.name}_gripper" joint="{arm.name}_finger_left_slide" kp="2000" kv="120" '
                f'ctrlrange="-0.02 {robots.FINGER_TRAVEL}" forcerange="-60 60"/>'
            )
    return text


def machine_equalities(machine: Machine) -> str:
    """The two fingers of a gripper move together."""
    return "".join(
        f'<joint joint1="{arm.name}_finger_right_slide" joint2="{arm.name}_finger_left_slide" '
        f'polycoef="0 1 0 0 0" solref="0.005 1"/>'
        for arm in machine.arms
        if arm.has_gripper
    )
