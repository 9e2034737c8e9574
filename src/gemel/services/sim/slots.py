"""Parameters that are plain numbers in a compiled model: which entries of which fields each name stands for.

Contacts go by the names of explicit pairs, `A-B` or `A-B/ANYTHING`: all pairs that start with the same `A-B` are one
contact. Joints are the robot's when an actuator moves something in the same kinematic tree, an object's otherwise.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.services.sim.restitution import damping_ratio, restitution

HINGE_OR_SLIDE = (2, 3)
"""Codes of mujoco.mjtJoint: slide, then hinge."""
_ON_A_JOINT = (0, 1)
"""Codes of mujoco.mjtTrn: joint, and joint in its parent's frame."""
_AFFINE_BIAS = 1
"""Code of mujoco.mjtBias: a servo pulls back with position and velocity."""


@dataclass(frozen=True)
class Bounds:
    """What values are physical."""

    unit: str
    low: float = -math.inf
    high: float = math.inf
    is_low_allowed: bool = True

    def admits(self, values: np.ndarray) -> np.ndarray:
        """Which values are finite and within the bounds."""
        above = values >= self.low if self.is_low_allowed else values > self.low
        return np.isfinite(values) & above & (values <= self.high)

    def __str__(self) -> str:
        parts = []
        if self.low > -math.inf:
            parts.append(f"{'at least' if self.is_low_allowed else 'above'} {self.low:g}")
        if self.high < math.inf:
            parts.append(f"at most {self.high:g}")
        return f"{' and '.join(parts) or 'finite'} [{self.unit or '1'}]"


@dataclass(frozen=True)
class Slot:
    """Entries of a model field that a parameter writes, times a factor."""

    field: str
    """As `mujoco.batch` names it; settings of the solver are `opt.NAME`."""
    entries: tuple[int, ...]
    """Indices into the flattened field."""
    factor: float = 1.0
    is_restitution: bool = False
    """Whether the field is a damping ratio and the parameter the restitution that it stands for."""

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """Values of the parameter as the field has them."""
        return damping_ratio(values) if self.is_restitution else self.factor * values

    def decoded(self, values: np.ndarray) -> np.ndarray:
        """The parameter from values of the field."""
        return restitution(values) if self.is_restitution else values / self.factor


@dataclass(frozen=True)
class PlainParameter:
    """A parameter that is a number in the model."""

    bounds: Bounds
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class Control:
    """One control of the model and what it moves."""

    label: str
    """The joint that it moves, or the actuator's own name when it moves something else."""
    index: int
    """Column of the commands."""
    actuator: int
    joint: int | None
    """Joint of the model, where the control is a position servo on it."""
    is_rotary: bool


def plain_parameters(model: Any) -> dict[str, PlainParameter]:
    """All plain parameters of a compiled `mujoco.MjModel` by name."""
    found = {"gravity/z": PlainParameter(Bounds("m/s²"), (Slot("opt.gravity", (2,)),))}
    for part in (_contacts(model), _joints(model), _servos(model)):
        found.update(part)
    return found


def contact_labels(model: Any) -> dict[str, list[int]]:
    """Pairs of each contact `A-B`."""
    labels: dict[str, list[int]] = {}
    for i in range(model.npair):
        label = model.pair(i).name.split("/")[0]
        if label:
            labels.setdefault(label, []).append(i)
    return labels


def controls(model: Any) -> tuple[Control, ...]:
    """What each control of the model moves, in the order of the commands."""
    moved = [int(model.actuator_trnid[a, 0]) for a in range(model.nu) if model.actuator_trntype[a] in _ON_A_JOINT]
    found = []
    for a in range(model.nu):
        joint = int(model.actuator_trnid[a, 0])
        is_alone = model.actuator_trntype[a] in _ON_A_JOINT and moved.count(joint) == 1
        is_servo = is_alone and model.actuator_biastype[a] == _AFFINE_BIAS
        label = model.joint(joint).name if is_alone else model.actuator(a).name
        is_rotary = not (is_alone and model.jnt_type[joint] == HINGE_OR_SLIDE[0])
        index = int(model.actuator_ctrladr[a])
        found.append(Control(label or f"actuator{a}", index, a, joint if is_servo else None, is_rotary))
    return tuple(found)


def joint_unit(model: Any, name: str) -> str:
    """`rad` of a hinge, `m` of a slide (code 2 of mujoco.mjtJoint)."""
    return "m" if model.jnt_type[model.joint(name).id] == 2 else "rad"


def gears(model: Any) -> Float[np.ndarray, " nu"]:
    """What a joint's position is multiplied by in the command of each control: a servo compares lengths, not angles."""
    found = np.ones(model.nu)
    for control in controls(model):
        found[control.index] = float(model.actuator_gear[control.actuator, 0])
    return found


def resting_commands(model: Any, qpos: Float[np.ndarray, "n nq"]) -> Float[np.ndarray, "n nu"]:
    """Commands under which position servos rest at these states; other controls are zero."""
    commands, gear = np.zeros((len(qpos), model.nu)), gears(model)
    for control in controls(model):
        if control.joint is not None:
            commands[:, control.index] = gear[control.index] * qpos[:, model.jnt_qposadr[control.joint]]
    return commands


def _contacts(model: Any) -> Iterator[tuple[str, PlainParameter]]:
    step_s = float(model.opt.timestep)
    for label, pairs in contact_labels(model).items():
        dimension = min(int(model.pair_dim[i]) for i in pairs)
        kinds = {
            "friction": (Bounds("", 0.0), "pair_friction", (0, 1)),
            "torsional": (Bounds("m", 0.0), "pair_friction", (2,)),
            "rolling": (Bounds("m", 0.0), "pair_friction", (3, 4)),
            # MuJoCo lifts shorter time constants to two steps without a word.
            "solref_time": (Bounds("s", 2.0 * step_s), "pair_solref", (0,)),
            "solref_damping": (Bounds("", 0.0, is_low_allowed=False), "pair_solref", (1,)),
            "restitution": (Bounds("", 0.0, 1.0), "pair_solref", (1,)),
        }
        if dimension < 4:
            del kinds["torsional"]
        if dimension < 6:
            del kinds["rolling"]
        for kind, (bounds, field, columns) in kinds.items():
            width = getattr(model, field).shape[1]
            entries = tuple(width * i + column for i in pairs for column in columns)
            slot = Slot(field, entries, is_restitution=kind == "restitution")
            yield f"contact/{label}/{kind}", PlainParameter(bounds, (slot,))


def _joints(model: Any) -> Iterator[tuple[str, PlainParameter]]:
    driven = driven_roots(model)
    for j in range(model.njnt):
        if model.jnt_type[j] not in HINGE_OR_SLIDE:
            continue
        name, dof = model.joint(j).name, int(model.jnt_dofadr[j])
        is_rotary = model.jnt_type[j] == HINGE_OR_SLIDE[1]
        force, per_speed = ("N·m", "N·m·s/rad") if is_rotary else ("N", "N·s/m")
        is_robot = model.body_rootid[model.jnt_bodyid[j]] in driven
        yield (
            f"{'robot' if is_robot else 'joint'}/{name}/damping",
            PlainParameter(Bounds(per_speed, 0.0), (Slot("dof_damping", (dof,)),)),
        )
        yield (
            f"robot/{name}/coulomb" if is_robot else f"joint/{name}/friction",
            PlainParameter(Bounds(force, 0.0), (Slot("dof_frictionloss", (dof,)),)),
        )
        if is_robot:
            bounds = Bounds("kg·m²" if is_rotary else "kg", 0.0)
            yield f"robot/{name}/armature", PlainParameter(bounds, (Slot("dof_armature", (dof,)),))


def _servos(model: Any) -> Iterator[tuple[str, PlainParameter]]:
    width = model.actuator_gainprm.shape[1]
    for control in controls(model):
        first = control.actuator * width
        slots = [Slot("actuator_gainprm", (first,))]
        is_servo = model.actuator_biastype[control.actuator] == _AFFINE_BIAS
        if is_servo:
            slots.append(Slot("actuator_biasprm", (first + 1,), -1.0))
        unit = "N·m/rad" if control.is_rotary else "N/m"
        yield f"robot/{control.label}/gain", PlainParameter(Bounds(unit, 0.0), tuple(slots))
        if is_servo:
            unit = "N·m·s/rad" if control.is_rotary else "N·s/m"
            slot = Slot("actuator_biasprm", (first + 2,), -1.0)
            yield f"robot/{control.label}/actuator_damping", PlainParameter(Bounds(unit, 0.0), (slot,))


def driven_roots(model: Any) -> set[int]:
    """Root bodies of the trees in which an actuator moves a joint."""
    joints = [int(model.actuator_trnid[a, 0]) for a in range(model.nu) if model.actuator_trntype[a] in _ON_A_JOINT]
    return {int(model.body_rootid[model.jnt_bodyid[j]]) for j in joints}
