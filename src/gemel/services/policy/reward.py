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


def rewards(
    task: Task, values: Mapping[str, Values], actions: Float[np.ndarray, "n a"], is_success: Bool[np.ndarray, " n"]
) -> Values:
    """Weighted sum of the terms that are known for this task; success alone where none is.

    `values` are measured quantities such as `object/position_error` and `tip/distance`, one for each simulation.
    `actions` go into the term `action_rate` as the sum of their squares. What they are is the caller's choice: training
    gives the change of normalised actions since the last period, which the term is named for, environments the actions
    as they are carried out, in the task's units.
    """
    terms = _terms(values, actions)
    known = [name for name in task.reward_weights if name in terms]
    if not known:
        return is_success.astype(np.float64)
    total = np.zeros(len(is_success))
    for name in known:
        total += task.reward_weights[name] * terms[name]
    return total


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
