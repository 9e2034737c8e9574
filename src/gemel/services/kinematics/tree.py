"""The kinematic tree of any MJCF or URDF robot, as plain arrays.

A link hangs on its parent by a constant pose and then moves by its joints, one after the other. Only hinge and slide
joints move a link here; a free or ball joint keeps its rest pose, because a log holds no single number for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError, choices_text
from gemel.geometry import SE3, SO3

WORLD = -1
"""Parent of a root link."""


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """One degree of freedom."""

    name: str
    link: int
    """Index of the link that it moves."""
    is_hinge: bool
    """Turns about the axis if true, slides along it otherwise."""
    axis: Float[np.ndarray, "3"]
    """Unit vector in the link's frame."""
    anchor: Float[np.ndarray, "3"]
    """A point on the axis in the link's frame [m]."""
    rest: float
    """Value at which the link is at its rest pose [rad or m]."""


@dataclass(frozen=True, eq=False)
class Coupling:
    """A joint that follows another: value = rest + polynomial(leader - its rest)."""

    follower: int
    leader: int
    coefficients: Float[np.ndarray, "5"]


@dataclass(frozen=True, eq=False)
class KinematicTree:
    """Links in an order in which parents come first, and the joints in the model's order."""

    links: tuple[str, ...]
    parents: tuple[int, ...]
    Ts_parent_link: SE3
    """Rest pose of each link in its parent, batch (link,)."""
    joints: tuple[TreeJoint, ...]
    couplings: tuple[Coupling, ...] = ()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all joints, in order."""
        return tuple(joint.name for joint in self.joints)

    @property
    def roots(self) -> tuple[int, ...]:
        """Links that stand on the world: the bases of the arms."""
        return tuple(i for i, parent in enumerate(self.parents) if parent == WORLD)

    @property
    def rest(self) -> Float[np.ndarray, " joint"]:
        """Joint values of the rest pose [rad or m]."""
        return np.array([joint.rest for joint in self.joints])

    def link(self, name: str) -> int:
        """Index of a link."""
        if name not in self.links:
            raise ConfigError(f"Link {choices_text(name, self.links)}", remedy="use one of the robot model's links")
        return self.links.index(name)

    def joint(self, name: str) -> int:
        """Index of a joint."""
        if name not in self.joint_names:
            raise ConfigError(f"Joint {choices_text(name, self.joint_names)}", remedy="use a joint of the robot model")
        return self.joint_names.index(name)

    def ancestors(self, link: int) -> tuple[int, ...]:
        """The link and all before it, root first."""
        chain = [link]
        while self.parents[chain[-1]] != WORLD:
            chain.append(self.parents[chain[-1]])
        return tuple(reversed(chain))


def kinematic_tree(model: Any) -> KinematicTree:
    """The tree of a compiled `mujoco.MjModel` (see `services/formats/robot_model.py: compile_robot`)."""
    count = model.nbody - 1  # body 0 is the world
    # The codes are those of mujoco.mjtJoint: 2 slides, 3 is a hinge.
    movable = [i for i in range(model.njnt) if model.jnt_type[i] in (2, 3)]
    return KinematicTree(
        links=tuple(model.body(i + 1).name or f"link{i + 1}" for i in range(count)),
        parents=tuple(int(p) - 1 for p in model.body_parentid[1:]),
        Ts_parent_link=SE3(SO3(np.array(model.body_quat[1:])), np.array(model.body_pos[1:])),
        joints=tuple(_joint(model, i) for i in movable),
        couplings=_couplings(model, movable),
    )


def _joint(model: Any, i: int) -> TreeJoint:
    return TreeJoint(
        name=model.joint(i).name or f"joint{i}",
        link=int(model.jnt_bodyid[i]) - 1,
        is_hinge=bool(model.jnt_type[i] == 3),
        axis=np.array(model.jnt_axis[i]),
        anchor=np.array(model.jnt_pos[i]),
        rest=float(model.qpos0[model.jnt_qposadr[i]]),
    )


def _couplings(model: Any, movable: Sequence[int]) -> tuple[Coupling, ...]:
    """Joint equalities (code 2 of mujoco.mjtEq) that make one joint follow another: fingers of a gripper."""
    found = []
    for e in range(model.neq):
        first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        if model.eq_type[e] == 2 and model.eq_active0[e] and first in movable and second in movable:
            found.append(Coupling(movable.index(first), movable.index(second), np.array(model.eq_data[e, :5])))
    return tuple(found)
