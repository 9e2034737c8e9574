"""The bodies of a compiled scene as plain records, for formats that know links with one joint each (URDF, USD)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError
from gemel.geometry import SE3, SO3, Inertia
from gemel.geometry.mesh_shapes import Mesh
from gemel.services.kinematics.link_meshes import geom_colour, geom_surface
from gemel.services.sim.mass_properties import nominal_inertia

_KINDS = {0: "free", 2: "slide", 3: "hinge"}
"""Codes of mujoco.mjtJoint."""
_PRIMITIVES = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box"}
"""Codes of mujoco.mjtGeom that stay primitives; others become meshes."""
_FIRST_HIDDEN_GROUP = 3
_JOINT_EQUALITY = 2
_AFFINE_BIAS = 1


@dataclass(frozen=True)
class Servo:
    """A position servo, at the joint: force = gain (target - position) - damping speed."""

    gain: float
    damping: float
    effort: float
    """Largest force or torque [N or N·m]; infinite when unlimited."""


@dataclass(frozen=True)
class Follows:
    """A joint that follows another: value = offset + factor · leader."""

    leader: str
    factor: float
    offset: float


@dataclass(frozen=True, eq=False)
class LinkJoint:
    """The joint by which a link moves on its parent."""

    name: str
    kind: str
    """`hinge`, `slide` or `free`."""
    axis: Float[np.ndarray, "3"]
    """Unit vector in the link's frame."""
    anchor: Float[np.ndarray, "3"]
    """A point on the axis in the link's frame [m]."""
    rest: float
    """Value at which the link is at its rest pose [rad or m]."""
    low: float
    high: float
    damping: float
    """Viscous friction [N·m·s/rad or N·s/m]."""
    friction: float
    """Dry friction [N·m or N]."""
    armature: float
    """Inertia of the rotor at the joint [kg·m² or kg]."""
    servo: Servo | None
    follows: Follows | None


@dataclass(frozen=True, eq=False)
class Shape:
    """One geom of a link."""

    kind: str
    """`box`, `sphere`, `cylinder`, `capsule` or `mesh`."""
    T_link_shape: SE3
    size: Float[np.ndarray, "3"]
    """As MuJoCo has it: half lengths of a box; radius and half length of cylinder and capsule [m]."""
    mesh: Mesh
    """The surface in the shape's frame, of primitives too."""
    is_touching: bool
    is_shown: bool
    rgb: Float[np.ndarray, "3"]


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body."""

    name: str
    parent: str
    """Name of the parent link, empty for the world."""
    T_parent_link: SE3
    """Rest pose."""
    inertia: Inertia | None
    """None for a link without mass, such as one that stands still."""
    joint: LinkJoint | None
    shapes: tuple[Shape, ...]
    held_up: float
    """Part of the link's weight that is compensated, 0 to 1."""


def links_of(model: Any, bodies: Sequence[int]) -> tuple[Link, ...]:
    """Records of some bodies of a compiled `mujoco.MjModel`, parents before children."""
    return tuple(_link(model, body) for body in bodies)


def _link(model: Any, body: int) -> Link:
    parent = int(model.body_parentid[body])
    return Link(
        name=model.body(body).name,
        parent=model.body(parent).name if parent else "",
        T_parent_link=SE3(SO3(np.array(model.body_quat[body])), np.array(model.body_pos[body])),
        inertia=nominal_inertia(model, body) if model.body_mass[body] > 0.0 else None,
        joint=_joint(model, body),
        shapes=tuple(_shapes(model, body)),
        held_up=float(model.body_gravcomp[body]),
    )


def _joint(model: Any, body: int) -> LinkJoint | None:
    count, j = int(model.body_jntnum[body]), int(model.body_jntadr[body])
    if count == 0:
        return None
    kind = _KINDS.get(int(model.jnt_type[j]))
    if count > 1 or kind is None:
        raise ConfigError(
            f"Link {model.body(body).name!r} moves by {count} joint(s), the first of them "
            f"{'a ball joint' if kind is None else kind}; URDF and USD links have one hinge, slide or free joint each.",
            remedy="export to mjcf, or split the link in the robot model into links with one joint each",
        )
    dof = int(model.jnt_dofadr[j])
    low, high = model.jnt_range[j] if model.jnt_limited[j] else (-math.inf, math.inf)
    return LinkJoint(
        name=model.joint(j).name,
        kind=kind,
        axis=np.array(model.jnt_axis[j]),
        anchor=np.array(model.jnt_pos[j]) if kind == "hinge" else np.zeros(3),
        rest=float(model.qpos0[model.jnt_qposadr[j]]) if kind != "free" else 0.0,
        low=float(low),
        high=float(high),
        damping=float(model.dof_damping[dof]),
        friction=float(model.dof_frictionloss[dof]),
        armature=float(model.dof_armature[dof]),
        servo=_servo(model, j),
        follows=_follows(model, j),
    )


def _servo(model: Any, j: int) -> Servo | None:
    """All servos of a joint together; one behind a gear feels and moves the joint through it."""
    on_joint = (model.actuator_trntype == 0) & (model.actuator_trnid[:, 0] == j)
    servos = np.flatnonzero(on_joint & (model.actuator_biastype == _AFFINE_BIAS))
    if not len(servos):
        return None
    gear = model.actuator_gear[servos, 0]
    _, stiffness, damping = gear**2 * -model.actuator_biasprm[servos, :3].T
    efforts = (gear[:, None] * model.actuator_forcerange[servos]).max(axis=1)
    is_limited = bool(model.actuator_forcelimited[servos].all())
    return Servo(float(stiffness.sum()), float(damping.sum()), float(efforts.sum()) if is_limited else math.inf)


def _follows(model: Any, j: int) -> Follows | None:
    for e in range(model.neq):
        first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        if model.eq_type[e] == _JOINT_EQUALITY and model.eq_active0[e] and first == j and second >= 0:
            offset, factor = (float(value) for value in model.eq_data[e, :2])
            rest, leader_rest = (float(model.qpos0[model.jnt_qposadr[i]]) for i in (first, second))
            return Follows(model.joint(second).name, factor, rest + offset - factor * leader_rest)
    return None


def _shapes(model: Any, body: int) -> list[Shape]:
    paired = {*model.pair_geom1.tolist(), *model.pair_geom2.tolist()}
    found = []
    for g in range(model.ngeom):
        surface = geom_surface(model, g) if model.geom_bodyid[g] == body else None
        if surface is None:
            continue
        is_touching = bool(model.geom_contype[g] or model.geom_conaffinity[g] or g in paired)
        found.append(
            Shape(
                kind=_PRIMITIVES.get(int(model.geom_type[g]), "mesh"),
                T_link_shape=SE3(SO3(np.array(model.geom_quat[g])), np.array(model.geom_pos[g])),
                size=np.array(model.geom_size[g]),
                mesh=surface,
                is_touching=is_touching,
                is_shown=bool(model.geom_group[g] < _FIRST_HIDDEN_GROUP and model.geom_rgba[g, 3] > 0.0),
                rgb=geom_colour(model, g),
            )
        )
    return found
