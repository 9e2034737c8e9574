"""Objects that overlap with the robot at the start, moved out of it.

Tracked poses and logged joints are both a little wrong, so an object that is being pushed may start some millimetres
inside the tool. A simulator parts the two within a time step or two, at a speed that flings the object off.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.services.sim.slots import driven_roots

_ROUNDS = 12
_CLOSE_M = 2e-5
_LEAST_SIDEWAYS = 0.5
"""Objects are moved along the table; an overlap from above is none that this could mend."""


def set_apart(model: Any, qpos: Float[np.ndarray, "n nq"], objects: Sequence[str]) -> Float[np.ndarray, "n nq"]:
    """States of a compiled `mujoco.MjModel` in which objects have been moved sideways until no tool is in them."""
    import mujoco

    roots = driven_roots(model)
    if not roots or not objects or not model.npair:
        return qpos
    data, own = mujoco.MjData(model), {int(model.body(name).id): name for name in objects}
    rows, inverse = np.unique(qpos, axis=0, return_inverse=True)
    for row in rows:
        for _ in range(_ROUNDS):
            data.qpos[:] = row
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
            name, move = _deepest(model, data, own, roots)
            if not name:
                break
            start = int(model.joint(name).qposadr[0])
            row[start : start + 2] += move
    return rows[inverse.reshape(-1)]


def _deepest(
    model: Any, data: Any, own: dict[int, str], roots: set[int]
) -> tuple[str, Float[np.ndarray, "2"]]:  # fmt: skip
    """The object that is deepest in the robot, and the way out along the table; no name where none is."""
    found, deepest, way = "", _CLOSE_M, np.zeros(2)
    for contact in data.contact:
        bodies = [int(model.geom_bodyid[geom]) for geom in contact.geom]
        for body, other, sign in ((bodies[0], bodies[1], -1.0), (bodies[1], bodies[0], 1.0)):
            if body in own and int(model.body_rootid[other]) in roots and -contact.dist > deepest:
                sideways = sign * contact.frame[:2]
                length = float(np.linalg.norm(sideways))
                if length > _LEAST_SIDEWAYS:
                    found, deepest = own[body], -contact.dist
                    way = (deepest + 0.5 * _CLOSE_M) * sideways / length**2
    return found, way
