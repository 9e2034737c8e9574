"""What a robot stands on where that is lower than the table, such as the wheels of a mobile base.

The table is a plane without end, which is exact and fast. Parts of the robot that are below it wherever its joints are
can only stand beside it, and must not be pushed up through it. Those of a robot that can drive or fall get a floor at
their lowest point instead; those of a robot that is fixed to the world touch nothing there.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.services.sim.contacts import FLOOR, TABLE, Part
from gemel.services.sim.readout import CONTACT_SENSOR
from gemel.services.sim.slots import HINGE_OR_SLIDE

_POSES = 64
"""Joint positions, spread over the limits, that show how high a part can get."""
_BELOW_M = 0.002
_FREE = 0
"""Code of mujoco.mjtJoint."""
_PLANE, _SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = 0, 2, 3, 4, 5, 6, 7
"""Codes of mujoco.mjtGeom."""


def add_plane(spec: Any, name: str, height_m: float) -> Part:
    """A horizontal plane at a height in the world."""
    import mujoco

    spec.worldbody.add_geom(
        name=name, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[2.0, 2.0, 0.1], pos=[0.0, 0.0, height_m], contype=0,
        conaffinity=0,
    )  # fmt: skip
    return Part(name, (name,))


def move_to_floor(spec: Any, model: Any, robot: Sequence[Part], table_height_m: float) -> bool:
    """Part what stays below the table from it, if there is anything; `model` is the compiled `spec`."""
    low, height_m = parts_below(model, robot, table_height_m)
    if not low:
        return False
    standing = {f"{part.label}-{TABLE}/": f"{part.label}-{FLOOR}/" for part in low if _is_free(model, part)}
    if standing:
        add_plane(spec, FLOOR, height_m)
    labels = [f"{part.label}-{TABLE}/" for part in low]
    for pair in list(spec.pairs):
        label = next((label for label in labels if pair.name.startswith(label)), "")
        if label in standing:
            pair.name, pair.geomname2 = pair.name.replace(label, standing[label]), FLOOR
        elif label:
            spec.delete(pair)
    for sensor in list(spec.sensors):
        label = next((label for label in labels if sensor.name.startswith(CONTACT_SENSOR + label)), "")
        if label in standing:
            sensor.name, sensor.refname = sensor.name.replace(label, standing[label]), FLOOR
        elif label:
            spec.delete(sensor)
    return True


def _is_free(model: Any, part: Part) -> bool:
    """Whether the robot that a part belongs to can go anywhere."""
    root = int(model.body_rootid[model.geom_bodyid[model.geom(part.geoms[0]).id]])
    return bool(model.body_jntnum[root]) and int(model.jnt_type[model.body_jntadr[root]]) == _FREE


def parts_below(model: Any, robot: Sequence[Part], table_height_m: float) -> tuple[tuple[Part, ...], float]:
    """Moving parts of the robot that stay below the table, and the height of the lowest as compiled [m]."""
    at_start = {part: _lowest(model, part, model.qpos0) for part in robot if not part.is_still}
    low = [part for part, height in at_start.items() if height < table_height_m - _BELOW_M]
    for qpos in _poses(model) if low else ():
        low = [part for part in low if _lowest(model, part, qpos) < table_height_m - _BELOW_M]
    return tuple(low), min((at_start[part] for part in low), default=table_height_m)


def _poses(model: Any) -> Float[np.ndarray, "_ nq"]:
    """States with joints spread over their limits, half a turn or metre either way without; free bodies stay."""
    rng, found = np.random.default_rng(0), np.tile(model.qpos0, (_POSES, 1))
    for j in range(model.njnt):
        if model.jnt_type[j] in HINGE_OR_SLIDE:
            reach = np.pi if model.jnt_type[j] == HINGE_OR_SLIDE[1] else 1.0
            low, high = model.jnt_range[j] if model.jnt_limited[j] else (-reach, reach)
            found[:, model.jnt_qposadr[j]] = rng.uniform(low, high, _POSES)
    return found


def _lowest(model: Any, part: Part, qpos: Float[np.ndarray, " nq"]) -> float:
    """Height of the lowest point of a part [m]."""
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    return min(_geom_lowest(model, data, int(model.geom(name).id)) for name in part.geoms)


def _geom_lowest(model: Any, data: Any, geom: int) -> float:
    kind, size = int(model.geom_type[geom]), np.asarray(model.geom_size[geom])
    up, z = np.asarray(data.geom_xmat[geom]).reshape(3, 3)[2], float(data.geom_xpos[geom, 2])
    if kind == _MESH:
        mesh = int(model.geom_dataid[geom])
        first = int(model.mesh_vertadr[mesh])
        return z + float((model.mesh_vert[first : first + int(model.mesh_vertnum[mesh])] @ up).min())
    reach = {
        _PLANE: 0.0,
        _SPHERE: size[0],
        _CAPSULE: size[0] + abs(up[2]) * size[1],
        _ELLIPSOID: np.linalg.norm(up * size),
        _CYLINDER: size[0] * np.hypot(up[0], up[1]) + abs(up[2]) * size[1],
        _BOX: np.abs(up) @ size,
    }
    return z - float(reach.get(kind, model.geom_rbound[geom]))
