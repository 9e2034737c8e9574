"""What history encoders see: the features of the last ten steps, built up step by step; training and running share it.

The window is that of the seed (arXiv 2510.11689): ten steps of observations and actions, flattened.
"""

import numpy as np
from jaxtyping import Float, Float32

from gemel.artifacts.task import Task
from gemel.services.policy.features import PAST, FeatureHistory, action_bound_m, push_features, to_object

STEPS = 10
Points = Float[np.ndarray, "n 2"]


class HistoryWindow:
    """Features of many episodes, from poses, tips and commanded displacements."""

    def __init__(self, task: Task, steps: int = STEPS) -> None:
        self._task, self._steps, self._bound_m = task, steps, action_bound_m(task)
        self.start(1)

    def start(self, count: int) -> None:
        """Begin so many episodes."""
        self._history = FeatureHistory(count, self._steps)
        self._actions = np.zeros((count, PAST, 2))
        self._tip: np.ndarray | None = None
        self._yaw = np.zeros(count)

    def in_object(self, past_action_world: Points) -> Points:
        """Displacements [m] that were commanded at the last look, in units of the largest, in the object's frame."""
        return to_object(past_action_world / self._bound_m, self._yaw)

    def push(self, object_xyyaw: Float[np.ndarray, "n 3"], tip_xy: Points, past_action: Points) -> None:
        """One step later; `past_action` was taken at the last look, in the object's frame of then."""
        is_first = self._tip is None
        if not is_first:
            self._actions = np.concatenate([past_action[:, None], self._actions[:, :-1]], axis=1)
        previous = tip_xy if self._tip is None else self._tip
        features = push_features(object_xyyaw, tip_xy, previous, self._actions, self._task)
        if is_first:
            self._history.start(features, np.arange(len(features)))
        else:
            self._history.push(features)
        self._tip, self._yaw = tip_xy.copy(), object_xyyaw[:, 2].copy()

    @property
    def stacked(self) -> Float32[np.ndarray, "n _"]:
        """All steps of each episode in one row, newest first."""
        return self._history.stacked
