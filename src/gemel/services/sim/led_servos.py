"""Servos that follow a logged path without lag: what feed-forward they need.

A position servo with damping trails a moving target by (velocity gain + joint damping) / gain seconds. A path that was
logged has been reached already, so a robot that is led along it must not trail it once more. `lead` (`drives.py`) adds
just so much of the target's speed.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.services.sim.slots import controls


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
