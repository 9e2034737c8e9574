"""The whole scene as one MuJoCo model: the machine at its true place, the object with its true inertia, the table.

Every contact is a named pair, so that each has its own friction. The object touches the table with cells of a few
centimetres, each with the friction of the place that it lies on, and touches tools with its whole boxes.
"""

import math
from collections.abc import Iterator

import numpy as np

from gemel.geometry import SE3, SO3, Inertia
from gemel.services.tasks.box_union import Box
from gemel.services.tasks.objects import ObjectModel
from gemel.worlds.hidden import Hidden
from gemel.worlds.machine import Machine, arm_xml, machine_actuators, machine_equalities, wrapped_mjcf

TABLE = "table"
_CELL_M = 0.05
_WEIGHT_PART = 0.143 / 0.343
"""Part of the T-block's mass that is the movable weight."""


def scene_mjcf(machine: Machine, model: ObjectModel, hidden: Hidden, *, control_period_s: float) -> str:
    """The MJCF text of a world."""
    bodies = '<geom name="table" type="plane" size="2 2 0.1" contype="0" conaffinity="0"/>'
    bodies += "".join(arm_xml(arm, hidden.T_world_bases[arm.name]) for arm in machine.arms)
    bodies += _object_xml(model, object_inertia(model, hidden))
    return wrapped_mjcf(
        machine.name,
        bodies,
        machine_actuators(machine, hidden.torque_scale),
        machine_equalities(machine),
        option=_option(machine, hidden, control_period_s),
        contact="".join(_pairs(machine, model, hidden)),
    )


def _option(machine: Machine, hidden: Hidden, control_period_s: float) -> str:
    """Solver settings; what is held between fingers must not creep, hence the extra iterations there."""
    noslip = 3 if any(arm.has_gripper for arm in machine.arms) else 0
    step_s = control_period_s / math.ceil(control_period_s / hidden.timestep_s - 1e-9)
    return (
        f'<option timestep="{step_s!r}" integrator="implicitfast" cone="elliptic" impratio="10" '
        f'noslip_iterations="{noslip}"/>'
    )


def object_inertia(model: ObjectModel, hidden: Hidden) -> Inertia:
    """True mass, centre of mass and inertia of the object, in its frame."""
    mass = hidden.parameters.get(f"object/{model.name}/mass", model.mass_kg)
    com_x = hidden.parameters.get(f"object/{model.name}/com_x")
    com_y = hidden.parameters.get(f"object/{model.name}/com_y")
    if com_y is not None:
        return _with_weight(model, mass, com_y)
    if com_x is not None:
        return _two_materials(model, mass, com_x)
    return _of_boxes(model.collision, mass)


def cells(model: ObjectModel) -> list[tuple[Box, int]]:
    """The parts that touch the table, with the number of the collision box that each belongs to."""
    found = []
    for index, box in enumerate(model.collision):
        counts = [max(1, round(box.size[axis] / _CELL_M)) for axis in range(2)]
        size = (box.size[0] / counts[0], box.size[1] / counts[1], box.size[2])
        for i, j in np.ndindex(*counts):
            x, y = (box.low[a] + (n + 0.5) * size[a] for a, n in ((0, i), (1, j)))
            found.append((Box((float(x), float(y), box.centre[2]), size), index))
    return found


def _with_weight(model: ObjectModel, mass: float, com_y: float) -> Inertia:
    """A uniform body and a small weight on its y axis that brings the centre of mass to `com_y`."""
    plain = _of_boxes(model.collision, mass * (1.0 - _WEIGHT_PART))
    weight = mass * _WEIGHT_PART
    y = (mass * com_y - plain.mass_kg * plain.p_BoBcm_B[1]) / weight
    disc = Inertia.cylinder(weight, 0.02, 0.02).transformed(SE3(SO3.identity(), np.array([0.0, y, 0.0])))
    return plain + disc


def _two_materials(model: ObjectModel, mass: float, com_x: float) -> Inertia:
    """Handle and head share the mass so that the centre of mass lies at `com_x`."""
    handle, head = model.collision
    part = (com_x - handle.centre[0]) / (head.centre[0] - handle.centre[0])
    return _of_boxes((handle,), mass * (1.0 - part)) + _of_boxes((head,), mass * part)


def _of_boxes(boxes: tuple[Box, ...], mass: float) -> Inertia:
    """Boxes of one density."""
    density = mass / sum(box.volume for box in boxes)
    parts = [
        Inertia.box(density * box.volume, box.size).transformed(SE3(SO3.identity(), np.array(box.centre)))
        for box in boxes
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _object_xml(model: ObjectModel, inertia: Inertia) -> str:
    tensor = inertia.I_BBcm_B
    entries = (tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2])
    geoms = "".join(_geom(f"whole{i}", box) for i, box in enumerate(model.collision))
    geoms += "".join(_geom(f"cell{i}", box) for i, (box, _) in enumerate(cells(model)))
    return (
        f'<body name="{model.name}" pos="0 0 {model.rest_height}"><freejoint name="{model.name}"/>'
        f'<inertial pos="{_row(inertia.p_BoBcm_B)}" mass="{inertia.mass_kg!r}" fullinertia="{_row(entries)}"/>'
        f"{geoms}</body>"
    )


def _geom(name: str, box: Box) -> str:
    half = _row(0.5 * np.asarray(box.size))
    return f'<geom name="{name}" type="box" size="{half}" pos="{_row(box.centre)}" contype="0" conaffinity="0"/>'


def _pairs(machine: Machine, model: ObjectModel, hidden: Hidden) -> Iterator[str]:
    table, tool = hidden.contact_friction(model.name)
    for i in range(len(cells(model))):
        yield _pair(TABLE, f"cell{i}", table, hidden.solref)
    for arm in machine.arms:
        names = [f"{arm.name}_finger_{side}_pad" for side in ("left", "right")] if arm.has_gripper else ["pusher"]
        for name in names:
            for i in range(len(model.collision)):
                yield _pair(name, f"whole{i}", tool, "0.01 1", condim=4 if arm.has_gripper else 3)


def _pair(first: str, second: str, friction: float, solref: str, *, condim: int = 3) -> str:
    return (
        f'<pair name="{first}-{second}" geom1="{first}" geom2="{second}" condim="{condim}" solref="{solref}" '
        f'friction="{friction!r} {friction!r} 0.005 0.0001 0.0001"/>'
    )


def _row(values: "np.ndarray | tuple[float, ...]") -> str:
    return " ".join(repr(float(value)) for value in values)
