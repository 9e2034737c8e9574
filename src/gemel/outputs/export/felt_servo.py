"""What a joint feels of its servos in a compiled model, found by moving it: exports are checked against this."""

import copy
import math
from typing import Any

import numpy as np

from gemel.outputs.export.links import Servo

_MOVE = 1e-3
"""How far, and how fast, the joint is moved; forces are linear in both."""
_FAR = 1e9
"""A command that no limit of force lets a servo follow."""
_ON_A_JOINT = (0, 1)
"""Codes of mujoco.mjtTrn."""
_AFFINE_BIAS = 1
"""Code of mujoco.mjtBias."""


def felt_servo(model: Any, name: str) -> Servo:
    """Stiffness, damping and largest force at a hinge or slide of a `mujoco.MjModel`; zeros where no servo is."""
    j = int(model.joint(name).id)
    own = [a for a in range(model.nu) if _is_servo_of(model, a, j)]
    if not own:
        return Servo(0.0, 0.0, math.inf)
    free = copy.copy(model)
    free.opt.gravity[:] = 0.0  # or weight that servos compensate would count as theirs
    free.actuator_ctrllimited[:] = free.jnt_actfrclimited[:] = False
    is_other = ~np.isin(np.arange(model.nu), own)
    free.actuator_gainprm[is_other], free.actuator_biasprm[is_other] = 0.0, 0.0
    effort = math.inf if not model.actuator_forcelimited[own].all() else _force(free, j, command=_FAR)
    free.actuator_forcelimited[:] = False
    still = _force(free, j)
    stiffness, damping = (still - _force(free, j, **move) for move in ({"position": _MOVE}, {"speed": _MOVE}))
    return Servo(stiffness / _MOVE, damping / _MOVE, effort)


def _force(model: Any, j: int, *, position: float = 0.0, speed: float = 0.0, command: float = 0.0) -> float:
    """Force or torque of all servos at a joint that is off its rest by so much."""
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[model.jnt_qposadr[j]] += position
    data.qvel[model.jnt_dofadr[j]] = speed
    data.ctrl[:] = command * np.sign(model.actuator_gear[:, 0])
    mujoco.mj_forward(model, data)
    return float(data.qfrc_actuator[model.jnt_dofadr[j]])


def _is_servo_of(model: Any, a: int, j: int) -> bool:
    is_on_joint = model.actuator_trntype[a] in _ON_A_JOINT and model.actuator_trnid[a, 0] == j
    return bool(is_on_joint and model.actuator_biastype[a] == _AFFINE_BIAS)
