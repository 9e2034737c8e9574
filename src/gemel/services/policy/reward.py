"""How good a state is, by the terms that a task weighs.

The pushing terms are those that trained in a study of this task: the position term that decides counts only as far as
the turn is right, or a policy learns to bring the object to its place and leave it turned.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.task import Task

Values = Float[np.ndarray, " n"]
_INSIDE_M, _INSIDE_RAD = 0.03, np.radians(10.0)
_BEHIND_M, _FAR_M = 0.12, 0.5


def rewards(
    task: Task, values: Mapping[str, Values], actions: Float[np.ndarray, "n a"], is_success: Bool[np.ndarray, " n"]
) -> Values:
    """Weighted sum of the terms that are known for this task; success alone where none is.

    `values` are measured quantities such as `object/position_error` and `tip/distance`, one for each simulation.
    """
    terms = _terms(values, actions)
    known = [name for name in task.reward_weights if name in terms]
    if not known:
        return is_success.astype(np.float64)
    total = np.zeros(len(is_success))
    for name in known:
        total += task.reward_weights[name] * terms[name]
    return total


def approach_potential(task: Task, values: Mapping[str, Values]) -> Values:
    """How well the tip is placed to push the object home: minus its distance [m] from behind the object.

    Behind is a hand's breadth beyond the object, seen from the goal. It matters less the nearer the object is. As
    reward serves what this gains from one step to the next, discounted, which changes no optimal policy (Ng, Harada and
    Russell 1999); without it policies learn to stop where they would have to walk around the object.
    """
    x, y, error = values["object/x"], values["object/y"], np.maximum(values["object/position_error"], 1e-6)
    beyond = 1.0 + _BEHIND_M / error
    goal_x, goal_y = task.goal["object/x"], task.goal["object/y"]
    behind_x, behind_y = goal_x + beyond * (x - goal_x), goal_y + beyond * (y - goal_y)
    away = np.hypot(values["tip/x"] - behind_x, values["tip/y"] - behind_y)
    return np.asarray(-np.minimum(away, _FAR_M) * np.tanh(error / _INSIDE_M))


def _terms(values: Mapping[str, Values], actions: Float[np.ndarray, "n a"]) -> dict[str, Values]:
    terms: dict[str, Values] = {"action_rate": np.einsum("na,na->n", actions, actions)}
    if "tip/distance" in values:
        terms["reach"] = 1.0 - np.tanh(np.maximum(values["tip/distance"], 0.15) / 0.2)
    if "object/position_error" in values:
        d = values["object/position_error"]
        terms["position"] = 1.0 - np.tanh(d / 0.4)
        if "object/yaw_error" in values:
            yaw = values["object/yaw_error"]
            near = np.clip((0.4 - d) / 0.3, 0.0, 1.0)
            terms["yaw"] = near * (1.0 - np.tanh(yaw / 0.8))
            terms["fine"] = (1.0 - np.tanh(d / 0.05)) * (1.0 - np.tanh(yaw / 0.5))
            terms["inside"] = ((d < _INSIDE_M) & (yaw < _INSIDE_RAD)).astype(np.float64)
    return terms
