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


class _Interleaved:
    """A problem that has raw `mujoco.batch` make the same steps after every prediction, on a clock of its own.

    Both clocks are of this process's CPU time, and both sides alternate, so that what else the machine does, and how
    fast it clocks, touches them alike.
    """

    def __init__(self, world: PushedWorld) -> None:
        self._world = world
        self.parameters, self.observed, self.noise = world.parameters, world.observed, world.noise
        self.raw_s, self.raw_steps = 0.0, 0
        self._batches: dict[int, Any] = {}

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Pass on, then step a raw batch of the same size along the same path."""
        predicted = self._world.predict(draws)
        begin = time.process_time()
        self._step_raw(len(draws))
        self.raw_s += time.process_time() - begin
        return predicted

    def _step_raw(self, count: int) -> None:
        from mujoco.batch import Batch

        world = self._world
        if count not in self._batches:
            self._batches[count] = Batch(world.simulator.model, count, 1)
        raw, (start, path, T) = self._batches[count], world.stroke()
        raw.reset()
        raw.bind("qpos")[:] = np.concatenate([T.translation, T.rotation.wxyz, start])
        commands = np.repeat(path, world.every, axis=0)[None].repeat(count, axis=0)
        raw.rollout(len(path) * world.every, commands, record=("qpos",))
        self.raw_steps += count * len(path) * world.every


def _utilisation(*, quick: bool) -> float:
    """Physics steps per CPU second of a whole `identify` of a push over those of raw `mujoco.batch` in the same run."""
    world = PushedWorld(0)
    world.ticks = 3 if quick else 12  # a longer push: what inference costs beside it does not grow
    world.observed = world.predict(world.truth[None])[0]
    problem = _Interleaved(world)
    prior, config = flat_belief(world.parameters), IdentifyConfig(ensemble=64, generations=2 if quick else 12)
    world.physics_steps = 0
    begin = time.process_time()
    identify_problem(problem, prior, config, rng=np.random.default_rng(0))
    own_s = time.process_time() - begin - problem.raw_s
    return world.physics_steps / own_s / (problem.raw_steps / problem.raw_s)
