"""Two seconds of motion, twice: in the twin and in what was read back."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.services.sim.quiet import quiet_warnings

SECONDS = 2.0
FREE_FLIGHT, IN_CONTACT_M = 1e-6, 1e-4
"""Largest differences that count as the same motion [m, rad]: flying and reaching, and landing on things."""
_LIFT_M, _DROP_M = 0.5, 0.005
"""How far objects start above their places: to fly, and to land."""
_FLIGHT = (0.3, -0.2, 1.0, 1.0, 2.0, 3.0)
_SLIDE = (0.2, -0.1, 0.0, 0.0, 0.0, 1.0)
"""Velocities [m/s] and [rad/s] that objects start with."""
_REACH = 0.1
"""How far servos are commanded from where they are, as part of the joint's range, or [rad] without one."""
_FREE = 0
_HIGHEST_M, _HALVINGS = 2.0, 20
"""From where an object is lowered onto the robot, and how finely: the last step is of micrometres."""
State = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Positions, velocities and commands."""


def start(model: Any, *, has_contacts: bool) -> State:
    """Positions, velocities and commands that move everything: joints reach, objects fly or are dropped and slide."""
    qpos, qvel = np.array(model.qpos0), np.zeros(model.nv)
    for j in range(model.njnt):
        if model.jnt_type[j] == _FREE:
            q, v = int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])
            qpos[q + 2] += _DROP_M if has_contacts else _LIFT_M
            qvel[v : v + 6] = _SLIDE if has_contacts else _FLIGHT
    commands = np.zeros(model.nu)
    for a in range(model.nu):
        j = int(model.actuator_trnid[a, 0])
        if model.actuator_trntype[a] == 0 and model.jnt_type[j] != _FREE:
            low, high = model.jnt_range[j] if model.jnt_limited[j] else (-1.0, 1.0)
            here = float(qpos[model.jnt_qposadr[j]])
            reach = _REACH * (high - low)
            commands[a] = model.actuator_gear[a, 0] * (here + (reach if here + reach <= high else -reach))
    return qpos, qvel, commands


def start_touching(model: Any, pairs: Sequence[int]) -> State | None:
    """The state in which an object lies against the robot, which moves; None where no pair of geoms is one of both.

    `pairs` are explicit contacts of free objects with the robot. The first of these objects is lowered over the first
    geom of the robot until anything of the two touches.
    """
    import mujoco

    first = next((found for i in pairs if (found := _object_and_robot(model, i)) is not None), None)
    if first is None:
        return None
    joint, piece, tool = first
    geoms = [(int(model.pair_geom1[i]), int(model.pair_geom2[i])) for i in pairs
             if (found := _object_and_robot(model, i)) is not None and found[0] == joint]  # fmt: skip
    qpos, qvel, commands = start(model, has_contacts=True)
    data, q = mujoco.MjData(model), int(model.jnt_qposadr[joint])
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    onto_tool = data.geom_xpos[tool] - data.geom_xpos[piece]

    def gap(height: float) -> float:
        data.qpos[q : q + 3] = qpos[q : q + 3] + onto_tool + [0.0, 0.0, height]
        mujoco.mj_kinematics(model, data)
        return min(mujoco.mj_geomDistance(model, data, a, b, _HIGHEST_M, None) for a, b in geoms)

    low, high = 0.0, _HIGHEST_M
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if gap(middle) > 0.0 else (middle, high)
    gap(low)
    qpos[q : q + 3] = data.qpos[q : q + 3]
    qvel[int(model.jnt_dofadr[joint]) :][:6] = 0.0
    return qpos, qvel, commands


def _object_and_robot(model: Any, pair: int) -> tuple[int, int, int] | None:
    """Joint of the free object, its geom and the robot's geom of a contact."""
    geoms = (int(model.pair_geom1[pair]), int(model.pair_geom2[pair]))
    for own, other in (geoms, geoms[::-1]):
        body = int(model.geom_bodyid[own])
        joint = int(model.body_jntadr[body])
        if joint >= 0 and model.jnt_type[joint] == _FREE:
            return joint, own, other
    return None


def roll_out(
    model: Any,
    state: State,
    *,
    has_contacts: bool,
    read: Callable[[Any], Sequence[float] | np.ndarray],
) -> Float[np.ndarray, "t value"]:
    """What `read` finds in MuJoCo's data after each of the steps of two seconds."""
    import mujoco

    flags = int(model.opt.disableflags)
    model.opt.disableflags = flags if has_contacts else flags | int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = state
    found = []
    try:
        with quiet_warnings():
            for _ in range(round(SECONDS / model.opt.timestep)):
                mujoco.mj_step(model, data)
                found.append(np.array(read(data), dtype=np.float64))
    finally:
        model.opt.disableflags = flags
    return np.array(found)


def largest_difference(first: np.ndarray, second: np.ndarray) -> float:
    """Infinite where the two cannot be compared, NaN where one has broken down."""
    if first.shape != second.shape:
        return float("inf")
    return float(np.abs(first - second).max(initial=0.0))
