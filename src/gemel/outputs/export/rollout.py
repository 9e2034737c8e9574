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


def start(model: Any, *, has_contacts: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


def roll_out(
    model: Any,
    state: tuple[np.ndarray, np.ndarray, np.ndarray],
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
