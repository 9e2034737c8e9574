"""Whether an episode reached its goal, by the criteria of the task contract."""

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from gemel.artifacts.task import Criterion, Task
from gemel.geometry import SE3
from gemel.services.policy.site import Site

TOLERANCES = {"paper": (0.03, 20.0), "strict": (0.015, 5.0)}
"""Largest distance [m] and angle [deg] from the goal of a push: those of Phys2Real (arXiv 2510.11689), and ours."""
OF_EPISODES = ("object/displacement", "object/speed")
"""Quantities that one state does not tell."""
Series = Float[np.ndarray, " t"]


def tolerance_words(name: str) -> str:
    """A tolerance for people: `within 3 cm and 20 degrees (paper)`."""
    metres, degrees = TOLERANCES[name]
    return f"within {100.0 * metres:g} cm and {degrees:g} degrees ({name})"


def judge(task: Task, times_s: Series, object_poses: Mapping[str, SE3], site: Site | None = None) -> bool | None:
    """Whether every success criterion holds at the end; None where the poses of the objects are unknown.

    Table and robot stand at `site`, by default at the world's origin.
    """
    Ts_world_object = object_poses.get(task.objects[0]) if task.objects else None
    if Ts_world_object is None or not task.success:
        return None
    values = measured(task, times_s, Ts_world_object, site)
    known = [criterion for criterion in task.success if criterion.quantity in values]
    if len(known) < len(task.success):
        return None
    return all(_holds(criterion, times_s, values[criterion.quantity]) for criterion in known)


def measured(task: Task, times_s: Series, Ts_world_object: SE3, site: Site | None = None) -> dict[str, Series]:
    """The quantities that criteria speak of, over time, as far as this task defines them."""
    p, yaw = Ts_world_object.translation, yaw_of(Ts_world_object)
    values = {
        **(site or Site()).values(*p.T),
        "object/displacement": np.linalg.norm(p - p[0], axis=1),
        "object/speed": np.linalg.norm(np.gradient(p, times_s, axis=0), axis=1),
    }
    if {"object/x", "object/y"} <= set(task.goal):
        goal = np.array([task.goal["object/x"], task.goal["object/y"]])
        values["object/position_error"] = np.linalg.norm(p[:, :2] - goal, axis=1)
    if "object/yaw" in task.goal:
        values["object/yaw_error"] = np.abs(wrapped(yaw - task.goal["object/yaw"]))
    return {name: np.asarray(series) for name, series in values.items()}


def yaw_of(Ts_world_object: SE3) -> Float[np.ndarray, "*t"]:
    """Angle about the vertical [rad] of the object's x axis."""
    axis = Ts_world_object.rotation.as_matrix()[..., :2, 0]
    return np.asarray(np.arctan2(axis[..., 1], axis[..., 0]))


def wrapped(angle_rad: Float[np.ndarray, "*t"]) -> Float[np.ndarray, "*t"]:
    """The same angles in [-pi, pi)."""
    return np.asarray((angle_rad + math.pi) % (2.0 * math.pi) - math.pi)


def _holds(criterion: Criterion, times_s: Series, values: Series) -> bool:
    """Whether the bound is kept at the last step, and for `hold_s` before it."""
    asked = times_s >= times_s[-1] - criterion.hold_s
    return bool(np.all(values[asked] <= criterion.bound))
