"""`mpc` in the benchmark: one planner for each world of a fleet, with the belief of `fused`."""

import numpy as np
from jaxtyping import Float

from gemel.benchmarks.adapt.cells import Cell
from gemel.runtime.adapt.make import make_filter, priors_of
from gemel.services.policy.estimator import Estimator
from gemel.services.policy.mpc import StrokeControl
from gemel.services.policy.stroke_plans import MpcConfig


class StrokeControls:
    """Answers as one `PushController` for many worlds."""

    estimator: Estimator | None = None

    def __init__(self, cell: Cell) -> None:
        self._cell, self._controls = cell, list[StrokeControl]()

    def start(self, count: int) -> None:
        """One planner for each world, each with its own random numbers."""
        priors = priors_of(self._cell.task, [self._cell.prior])
        self._controls = [
            StrokeControl(self._cell.task, make_filter(self._cell.task, priors), MpcConfig(seed=k))
            for k in range(count)
        ]

    def act(self, object_xyyaw: Float[np.ndarray, "n 3"], tip_xy: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        """Displacements of all tips."""
        rows = [c.act(object_xyyaw[k : k + 1], tip_xy[k : k + 1]) for k, c in enumerate(self._controls)]
        return np.concatenate(rows)
