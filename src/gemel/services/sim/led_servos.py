"""Servos that lead a robot along a logged path: without lag, and without giving way.

A position servo with damping trails a moving target by (velocity gain + joint damping) / gain seconds. A path that was
logged has been reached already, so a robot that is led along it must not trail it once more. `lead` (`drives.py`) adds
just so much of the target's speed. Nor must it give way to what it pushes: how far the real arm did is in the log, and
one that yields a second time looks as if it pushed something heavier. A robot that is led is therefore as many times
heavier as it is stronger (`led_model`): it moves as it did, and nothing that it pushes stops it.
"""

import copy
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.services.kinematics.gripper_names import is_gripper
from gemel.services.sim.slots import controls

_STRONGER = 300.0
"""A tip that yields by 0.3 mm for each newton, as on small arms, is left with 1 micrometre."""


def servo_leads(
    model: Any, count: int, values: Mapping[str, Float[np.ndarray, " sim"]]
) -> dict[str, Float[np.ndarray, " sim"]]:
    """`robot/JOINT/lead` [s] of every position servo, for `count` simulations of a compiled `mujoco.MjModel`.

    `values` are parameters by name; gains and dampings among them count instead of the model's.
    """
    leads = {}
    for control in controls(model):
        if control.joint is None:
            continue
        own, actuator = f"robot/{control.label}", control.actuator
        gear = float(model.actuator_gear[actuator, 0])
        damping = values.get(f"{own}/damping", np.full(count, model.dof_damping[model.jnt_dofadr[control.joint]]))
        velocity_gain = values.get(f"{own}/actuator_damping", np.full(count, -model.actuator_biasprm[actuator, 2]))
        gain = values.get(f"{own}/gain", np.full(count, model.actuator_gainprm[actuator, 0]))
        trailing_s = (velocity_gain + damping / gear**2) / np.maximum(gain, 1e-9)
        # A physics step works from its start towards the target of its end, which is one step of lead already.
        leads[f"{own}/lead"] = np.maximum(trailing_s - float(model.opt.timestep), 0.0)
    return leads


def feed_forward(model: Any, known: Set[str] = frozenset()) -> dict[str, float]:
    """`robot/JOINT/lead` [s] that keeps the servos of a compiled model from trailing, where it is not known."""
    return {name: float(lead[0]) for name, lead in servo_leads(model, 1, {}).items() if name not in known}


def led_model(model: Any) -> Any:
    """A copy of a compiled `mujoco.MjModel` whose position servos do not give way; grippers close as they did.

    What is believed of the robot's servos and joints is in the log that leads it: `robot/` parameters do not belong
    into simulations of this model.
    """
    import mujoco

    led = copy.copy(model)
    for control in controls(model):
        if control.joint is None or is_gripper(f"{control.label} {model.body(model.jnt_bodyid[control.joint]).name}"):
            continue
        dof = int(model.jnt_dofadr[control.joint])
        led.dof_armature[dof] += (_STRONGER - 1.0) * float(model.dof_M0[dof])
        led.dof_damping[dof] *= _STRONGER
        led.jnt_actfrcrange[control.joint] *= _STRONGER
        for field in ("gainprm", "biasprm", "forcerange"):
            getattr(led, f"actuator_{field}")[control.actuator] *= _STRONGER
    mujoco.mj_setConst(led, mujoco.MjData(led))
    return led
