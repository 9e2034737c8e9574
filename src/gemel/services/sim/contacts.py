"""Which parts of a scene touch: explicit pairs of geoms, so that every contact has its own friction, and sensors.

A contact is called `A-B`. A and B are objects, `table`, or parts of the robot: `gripper` for everything with gripper
or finger in its name (`left_gripper` and so on where there are several), else the name of the geom, else of the link.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemel.artifacts.blob import Blobs
from gemel.artifacts.robot import RobotModel
from gemel.services.formats.robot_model import stored_robot_spec
from gemel.services.kinematics.gripper_names import is_gripper
from gemel.services.sim.grippers import gripper_labels
from gemel.services.sim.readout import CONTACT_SENSOR

TABLE = "table"
FLOOR = "floor_below_table"
"""What parts of the robot stand on that are lower than the table (`floor.py`)."""
_FRICTION = 0.5
"""Of every contact that the belief says nothing about."""
_TORSIONAL_M, _ROLLING_M = 0.005, 0.0001
_SOLREF = (0.01, 1.0)
"""Time constant [s] and damping ratio: as stiff as a step of 4 ms allows, without bounce."""


@dataclass(frozen=True)
class Part:
    """Something that touches other things."""

    label: str
    geoms: tuple[str, ...]
    body: str = ""
    """The body, where the part is all of it."""
    is_still: bool = False
    """Whether it is fixed to the world, as a robot's base may be."""
    is_gripper: bool = False


def robot_parts(spec: Any) -> tuple[Part, ...]:
    """Parts of a robot that can touch: geoms that collide in its own model, on links that move and on still ones.

    What its file puts into the world itself, such as a floor, is no part of it. Geoms without a name get one.
    """
    solid = [geom for geom in spec.geoms if _can_touch(spec, geom)]
    grippers = gripper_labels([geom for geom in solid if _is_of_gripper(spec, geom)])
    found: dict[str, list[Any]] = {}
    for number, geom in enumerate(spec.geoms):
        if _can_touch(spec, geom):
            link = geom.parent.name
            label = grippers[link] if _is_of_gripper(spec, geom) else (geom.name or link).replace("/", "_")
            geom.name = geom.name or f"{link}/geom{number}"
            found.setdefault(label, []).append(geom)
    return tuple(
        Part(
            label,
            tuple(geom.name for geom in geoms),
            is_still=all(_is_still(spec, geom.parent) for geom in geoms),
            is_gripper=label in grippers.values(),
        )
        for label, geoms in found.items()
    )


def stored_tool_labels(robot: RobotModel | None, blobs: Blobs) -> tuple[str, ...]:
    """Labels of what a stored robot works with; none without a robot."""
    return () if robot is None else tool_labels(stored_robot_spec(robot, blobs))


def _can_touch(spec: Any, geom: Any) -> bool:
    return bool((geom.contype or geom.conaffinity) and geom.parent.name != spec.worldbody.name)


def _is_of_gripper(spec: Any, geom: Any) -> bool:
    return is_gripper(f"{geom.name} {geom.parent.name}") and not _is_still(spec, geom.parent)


def _is_still(spec: Any, link: Any) -> bool:
    """Whether no joint lies between a link and the world. Asked of the description: compiling may fuse links away."""
    while link is not None and link.name != spec.worldbody.name:
        if len(link.joints):
            return False
        link = link.parent
    return True


def tool_labels(spec: Any) -> tuple[str, ...]:
    """Labels of the parts that a robot works with: moving ones beyond which no other part of it can touch."""
    parts = [part for part in robot_parts(spec) if not part.is_still]
    link_from_geom = {geom.name: geom.parent for geom in spec.geoms}
    inner = set()
    for part in parts:
        for geom in part.geoms:
            link = link_from_geom[geom].parent
            while link is not None and link.name != spec.worldbody.name:
                inner.add(link.name)
                link = link.parent
    return tuple(part.label for part in parts if not any(link_from_geom[g].name in inner for g in part.geoms))


def touching(
    objects: Sequence[Part], fixtures: Sequence[Part], robot: Sequence[Part], table: Part | None
) -> Iterator[tuple[Part, Part]]:
    """All contacts of a scene; fixtures are objects that stand where they are.

    What the robot's parts do to each other is left to the robot's own model. Its still parts do not touch the table,
    on which they may stand.
    """
    ground = [table] if table is not None else []
    for i, first in enumerate(objects):
        for second in (*objects[i + 1 :], *fixtures, *ground, *robot):
            yield first, second
    for fixture in fixtures:
        for part in robot:
            yield fixture, part
    for part in robot:
        for second in ground if not part.is_still else ():
            yield part, second


def add_contact(spec: Any, first: Part, second: Part, *, dimension: int) -> None:
    """Pairs of all geoms of the two parts; 3 dimensions are sliding, 4 also turning, 6 also rolling friction."""
    for i, geom1 in enumerate(first.geoms):
        for j, geom2 in enumerate(second.geoms):
            spec.add_pair(
                name=f"{first.label}-{second.label}/{i}-{j}",
                geomname1=geom1,
                geomname2=geom2,
                condim=dimension,
                friction=[_FRICTION, _FRICTION, _TORSIONAL_M, _ROLLING_M, _ROLLING_M],
                solref=_SOLREF,
                margin=0.0,
                gap=0.0,
            )


def add_force_sensor(spec: Any, first: Part, second: Part) -> None:
    """Sensors whose sum is the force of the first part on the second, in the world frame."""
    import mujoco

    def handles(part: Part) -> list[tuple[Any, str]]:
        if part.body:
            return [(mujoco.mjtObj.mjOBJ_BODY, part.body)]
        return [(mujoco.mjtObj.mjOBJ_GEOM, geom) for geom in part.geoms]

    is_force, net_force, one = 1 << int(mujoco.mjtConDataField.mjCONDATA_FORCE), 3, 1
    for i, (kind1, name1) in enumerate(handles(first)):
        for j, (kind2, name2) in enumerate(handles(second)):
            sensor = spec.add_sensor(
                name=f"{CONTACT_SENSOR}{first.label}-{second.label}/{i}-{j}",
                type=mujoco.mjtSensor.mjSENS_CONTACT,
                objtype=kind1,
                objname=name1,
                reftype=kind2,
                refname=name2,
            )
            sensor.intprm = np.array([is_force, net_force, one])
