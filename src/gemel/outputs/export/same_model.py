"""Two compiled MuJoCo models compared array by array: all that physics and looks depend on is in those arrays."""

import math
from typing import Any

import numpy as np

from gemel.outputs.export.report import Check, largest

ROUNDING = 1e-9
"""Difference that text with all digits may leave, relative where numbers are larger than one."""
_KINDS = {
    "bodies": ("body_",),
    "joints": ("jnt_", "dof_", "qpos"),
    "shapes": ("geom_", "site_"),
    "meshes": ("mesh_", "hfield_", "skin_", "flex"),
    "contacts": ("pair_", "exclude_"),
    "servos": ("actuator_",),
    "couplings": ("eq_", "tendon_", "wrap_", "plugin"),
    "sensors": ("sensor_",),
    "colours, pictures and lights": ("mat_", "tex_", "light_", "vis."),
    "cameras as MuJoCo has them": ("cam_",),
    "keyframes and custom data": ("key_", "numeric_", "text_", "tuple_"),
    "options": ("opt.", "stat."),
}
"""Rows of the table, by how names of arrays begin; what is left is the row of names and numbers of things."""
_OTHERS = "names and counts"
_OF_THE_MACHINE = ("paths", "npaths", "nbuffer", "ngravcomp")
"""Where files are, and how many bodies are held up, the world among them or not."""
_PARTS = ("opt", "stat", "vis")


def model_checks(meant: Any, found: Any) -> tuple[Check, ...]:
    """Largest difference of each kind of array between two `mujoco.MjModel`."""
    ours, theirs = _values(meant), _values(found)
    apart: dict[str, dict[str, float]] = {kind: {} for kind in (*_KINDS, _OTHERS)}
    for name in ours.keys() | theirs.keys():
        apart[_kind(name)][name] = _difference(name, ours.get(name), theirs.get(name))
    return tuple(
        Check(f"{kind}, all fields", largest(values.values()), ROUNDING, where=_worst(values))
        for kind, values in apart.items()
        if values
    )


def _worst(values: dict[str, float]) -> str:
    return max(values, key=lambda name: math.inf if math.isnan(values[name]) else values[name])


def _kind(name: str) -> str:
    return next((kind for kind, starts in _KINDS.items() if name.startswith(starts)), _OTHERS)


def _values(model: Any) -> dict[str, Any]:
    """All numbers, arrays and names of a model; parts of options, statistics and of how it is shown by `part.name`."""
    found = _plain(model)
    for part in _PARTS:
        found |= _nested(part, getattr(model, part))
    return {name: value for name, value in found.items() if name not in _OF_THE_MACHINE and "pathadr" not in name}


def _plain(thing: Any) -> dict[str, Any]:
    names = [name for name in dir(thing) if not name.startswith("_")]
    values = {name: getattr(thing, name) for name in names}
    return {name: value for name, value in values.items() if isinstance(value, np.ndarray | int | float | bytes)}


def _nested(start: str, thing: Any) -> dict[str, Any]:
    """Fields of a structure and of those inside it."""
    found = {f"{start}.{name}": value for name, value in _plain(thing).items()}
    for name in dir(thing):
        value = getattr(thing, name)
        if not name.startswith("_") and type(value).__module__.startswith("mujoco"):
            found |= _nested(f"{start}.{name}", value)
    return found


def _difference(name: str, ours: Any, theirs: Any) -> float:
    """Infinite for what cannot be compared."""
    if ours is None or theirs is None or isinstance(ours, bytes):
        return 0.0 if ours is not None and ours == theirs else math.inf
    a, b = (np.asarray(value, dtype=np.float64) for value in (ours, theirs))
    if a.shape != b.shape:
        return math.inf
    if name.startswith("body_"):  # what the world weighs is written nowhere and means nothing
        a, b = a[1:], b[1:]
    return largest(np.where(a == b, 0.0, (a - b) / np.maximum(1.0, np.abs(a))))
