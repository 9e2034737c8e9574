"""`mpc` in the benchmark: one planner for each world of a fleet, with the belief of `fused`."""

import time

import numpy as np
from jaxtyping import Float

from gemel.benchmarks.adapt.cells import Cell
from gemel.runtime.adapt.make import make_filter, priors_of
from gemel.services.policy.arena import Arena
from gemel.services.policy.estimator import Estimator
from gemel.services.policy.mpc import StrokeControl
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.services.policy.push_outline import Outline
from gemel.services.policy.stroke_plans import MpcConfig
from gemel.services.sim.planar_push import PUSHER_RADIUS_M
from gemel.services.tasks import get_object


class StrokeControls:
    """Answers as one `PushController` for many worlds."""

    estimator: Estimator | None = None

    def __init__(self, cell: Cell) -> None:
        self._cell, self._controls, self._spent_s, self._steps = cell, list[StrokeControl](), 0.0, 0
        self._arena: Arena = nominal_arena(cell.task_name)
        self._outline = Outline.of(get_object(cell.task.objects[0]), PUSHER_RADIUS_M)

    def start(self, count: int) -> None:
        """One planner for each world, each with its own random numbers."""
        priors = priors_of(self._cell.task, [self._cell.prior])
        self._controls = [
            StrokeControl(self._arena, self._outline, make_filter(self._cell.task, priors), MpcConfig(seed=k))
            for k in range(count)
        ]

    def act(self, object_xyyaw: Float[np.ndarray, "n 3"], tip_xy: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
        """Displacements of all tips."""
        start = time.perf_counter()
        rows = [c.act(object_xyyaw[k : k + 1], tip_xy[k : k + 1]) for k, c in enumerate(self._controls)]
        self._spent_s, self._steps = self._spent_s + time.perf_counter() - start, self._steps + len(rows)
        return np.concatenate(rows)

    @property
    def step_ms(self) -> float:
        """Mean time of a control step of one world, plans included [ms]."""
        return 1e3 * self._spent_s / max(1, self._steps)
