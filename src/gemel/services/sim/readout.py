"""What is read out of simulations besides their state: contact forces, and whether they broke down."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

CONTACT_SENSOR = "contact/"
"""Force sensors are named `contact/A-B` or `contact/A-B/ANYTHING`; those of one contact are added up."""
_FASTEST_M_S = 30.0
"""An object that moves faster has been thrown out by a solver that broke down: nothing on a table falls 45 m."""
_FASTEST_RAD_S = 1000.0


def contact_sensors(model: Any) -> dict[str, list[int]]:
    """Where the forces of each contact start among the sensor values."""
    found: dict[str, list[int]] = {}
    for i in range(model.nsensor):
        name = model.sensor(i).name
        if name.startswith(CONTACT_SENSOR):
            found.setdefault(name.removeprefix(CONTACT_SENSOR).split("/")[0], []).append(int(model.sensor_adr[i]))
    return found


def broke_down(
    model: Any, qpos: Float[np.ndarray, "sim t nq"], qvel: Float[np.ndarray, "sim t nv"]
) -> Bool[np.ndarray, " sim"]:
    """Which simulations have numbers that are not finite, or free bodies with the energy of an explosion."""
    is_broken = ~is_finite(qpos, qvel)
    for start in model.jnt_dofadr[model.jnt_type == 0]:
        for first, fastest in ((start, _FASTEST_M_S), (start + 3, _FASTEST_RAD_S)):
            x, y, z = (qvel[:, :, first + i] for i in range(3))
            is_broken |= (x * x + y * y + z * z > fastest**2).any(axis=1)
    return is_broken


def is_finite(qpos: Float[np.ndarray, "sim t nq"], qvel: Float[np.ndarray, "sim t nv"]) -> Bool[np.ndarray, " sim"]:
    """Which simulations have only finite numbers; almost always all of them, and that is quickly seen."""
    if np.isfinite(qpos).all() and np.isfinite(qvel).all():
        return np.ones(len(qpos), dtype=bool)
    return np.isfinite(qpos).all(axis=(1, 2)) & np.isfinite(qvel).all(axis=(1, 2))
