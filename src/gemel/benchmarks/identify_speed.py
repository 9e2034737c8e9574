"""How fast `identify` is: against `mujoco.minimize` on a two-parameter push, and against raw `mujoco.batch`."""

import time
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.benchmarks.calibration_worlds import PushedWorld
from gemel.services.inference import PriorMap, flat_belief
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.identify import identify_problem

_ENOUGH = 1.05


class _Watched:
    """A problem that notes when its cost first comes within 5 % of the truth's."""

    def __init__(self, world: PushedWorld) -> None:
        self._world = world
        self.parameters, self.observed, self.noise = world.parameters, world.observed, world.noise
        self.truth_cost = self._costs(world.predict(world.truth[None]))[0]
        self._start_s, self.reached_s, self.best = time.perf_counter(), float("nan"), float("inf")

    def start(self) -> None:
        """Set the clock to zero."""
        self._start_s, self.reached_s, self.best = time.perf_counter(), float("nan"), float("inf")

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Pass on, and look at the clock."""
        predicted = self._world.predict(draws)
        self.best = min(self.best, float(np.nanmin(self._costs(predicted))))
        if np.isnan(self.reached_s) and self.best <= _ENOUGH * self.truth_cost:
            self.reached_s = time.perf_counter() - self._start_s
        return predicted

    def _costs(self, predicted: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " n"]:
        return np.sum(((predicted - self.observed) / self.noise.scale) ** 2, axis=1)


def speed_figures(*, quick: bool) -> dict[str, float]:
    """Ratios, both sides in this process one after the other."""
    times = np.array([_both_times(seed) for seed in range(2 if quick else 10)])
    both = np.all(np.isfinite(times), axis=1)
    ratio = float(np.median(times[both, 0] / times[both, 1])) if both.any() else float("nan")
    return {
        "time_over_minimize": ratio,
        "eki_got_there": float(np.mean(np.isfinite(times[:, 0]))),
        "minimize_got_there": float(np.mean(np.isfinite(times[:, 1]))),
        "simulator_utilisation": _utilisation(quick=quick),
    }


def _both_times(seed: int) -> tuple[float, float]:
    """Seconds to within 5 % of the truth's cost by `eki` and by `mujoco.minimize` from the middle of the ranges."""
    from mujoco import minimize

    problem = _Watched(PushedWorld(seed))
    prior = flat_belief(problem.parameters)
    problem.predict(prior.samples[:2])  # compiles kernels
    problem.start()
    identify_problem(problem, prior, IdentifyConfig(draws=200), rng=np.random.default_rng(seed))
    eki_s = problem.reached_s
    to_normal = PriorMap.of(prior)

    def residual(columns: np.ndarray) -> Any:
        values = to_normal.to_parameters(columns.reshape(2, -1).T)
        return np.nan_to_num((problem.predict(values) - problem.observed) / problem.noise.scale, nan=1e3).T

    problem.start()
    bound = np.full(2, 4.0)
    minimize.least_squares(np.zeros(2), residual, bounds=[-bound, bound], eps=1e-4, verbose=0)
    return eki_s, problem.reached_s


def _utilisation(*, quick: bool) -> float:
    """Physics steps per second of a whole `identify` of a long push over those of raw `mujoco.batch`."""
    from mujoco.batch import Batch

    world = PushedWorld(0)
    world.ticks = 6 if quick else 30  # a longer push: what inference costs beside it does not grow
    world.observed = world.predict(world.truth[None])[0]
    count = 64
    world.predict(np.tile(world.truth, (count, 1)))
    simulator = world.simulator
    raw = Batch(simulator.model, count, 1)
    start, path, T = world.stroke()
    steps = len(path) * world.every
    rates = []
    for _ in range(3):
        raw.reset()
        raw.bind("qpos")[:] = np.concatenate([T.translation, T.rotation.wxyz, start])
        begin = time.perf_counter()
        raw.rollout(steps, np.repeat(path, world.every, axis=0)[None].repeat(count, axis=0), record=("qpos",))
        rates.append(count * steps / (time.perf_counter() - begin))
    world.physics_steps = 0
    begin = time.perf_counter()
    config = IdentifyConfig(ensemble=count)
    identify_problem(world, flat_belief(world.parameters), config, rng=np.random.default_rng(0))
    return world.physics_steps / (time.perf_counter() - begin) / float(np.median(rates))
