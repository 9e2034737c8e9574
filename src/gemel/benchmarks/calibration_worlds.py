"""Worlds for simulation-based calibration: truth and noise are drawn from the prior, level and correlation included.

`AnalyticWorld` is a damped oscillation in closed form, strongly nonlinear in its two parameters. `PushedWorld` is one
straight push of the T-block in MuJoCo, rough as contact is. Noise is drawn from the model that the inference assumes:
calibration is about the method, not about whether the world keeps to assumptions (that is what the push-t worlds ask).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.benchmarks.nominal_push import nominal_scene
from gemel.geometry import SE3, SO3
from gemel.services.inference import NoiseLayout, NoiseModel, PriorMap, flat_belief
from gemel.services.stats import chi_square_p, rank_statistics
from gemel.services.tasks import get_object
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.identify import identify_problem
from gemel.stages.identify.problem import Problem, pose_residuals

_TIMES_S = np.linspace(0.0, 2.0, 20)


class AnalyticWorld:
    """Two observed signals of an oscillation, 20 samples each."""

    parameters = (
        Parameter("amplitude", "m", 0.5, 2.0, "log", ValueSource.RANDOMISED),
        Parameter("decay", "1/s", 0.2, 3.0, "linear", ValueSource.RANDOMISED),
    )
    noise = NoiseLayout(
        np.repeat([0, 1], 20), np.repeat([0.05, 0.1], 20), np.repeat([0, 1], 20), np.tile(_TIMES_S, 2), ("x", "y")
    )

    def __init__(self, seed: int) -> None:
        self.truth, self.observed = drawn_data(self, flat_belief(self.parameters), seed)

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Closed form."""
        amplitude, decay = draws[:, :1], draws[:, 1:]
        x = amplitude * np.exp(-decay * _TIMES_S) * np.cos(3.0 * decay * _TIMES_S)
        return np.concatenate([x, amplitude**2 * np.sin(decay * _TIMES_S)], axis=1)


@dataclass(eq=False)
class PushedWorld:
    """One straight push of the T-block: centre of mass and table friction from eight tracked poses."""

    seed: int
    threads: int = 1
    physics_steps: int = 0

    parameters = (
        Parameter("object/t_block/com_y", "m", -0.035, 0.075, "linear", ValueSource.RANDOMISED),
        Parameter("contact/t_block-table/friction", "", 0.3, 0.7, "linear", ValueSource.RANDOMISED),
    )
    every = 5
    times = 8
    ticks = 3
    """Commands between two tracked poses."""

    def __post_init__(self) -> None:
        self._scene = nominal_scene(get_object("t_block"), threads=self.threads)
        self.simulator: Any = None
        self.truth, self.observed = drawn_data(self, flat_belief(self.parameters), self.seed)

    @cached_property
    def noise(self) -> NoiseLayout:
        """x, y and yaw, each a series."""
        component = np.repeat(np.arange(3), self.times)
        scale = np.array([0.001, 0.001, 0.005])[component]
        return NoiseLayout(component, scale, component, np.tile(np.arange(self.times) * 0.12, 3), ("x", "y", "yaw"))

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Pose residuals against the start."""
        count = len(draws)
        if self.simulator is None or self.simulator.count != count:
            self.simulator = self._scene.make(count)
        start, path, T_world_start = self.stroke()
        fixed = self._scene.fixed
        names = [p.name for p in self.parameters]
        values = np.concatenate([draws, np.tile(list(fixed.values()), (count, 1))], axis=1)
        self.simulator.set_parameters([*names, *fixed], values)
        Ts = SE3.from_wxyz_xyz(np.tile(T_world_start.wxyz_xyz, (count, 1)))
        qpos, qvel = self._scene.place(np.tile(start, (count, 1)), Ts, np.zeros((count, 6)))
        self.simulator.reset(qpos, qvel, commands=np.tile(start, (count, 1)))
        rollout = self.simulator.rollout(path[None], every=self.every, is_ramp=True)
        self.physics_steps += count * len(path) * self.every
        seen = rollout.qpos[:, self.ticks - 1 :: self.ticks]
        found = pose_residuals(self.simulator.body_poses("t_block", seen), T_world_start)
        predicted = np.concatenate([found[..., 0], found[..., 1], found[..., 5]], axis=1)
        predicted[rollout.is_diverged] = np.nan
        return predicted

    def stroke(self) -> tuple[Float[np.ndarray, "2"], Float[np.ndarray, "t 2"], SE3]:
        """Where the pusher starts, its commands, and where the block lies: a different push for every seed."""
        rng = np.random.default_rng([self.seed, 11])
        side = rng.uniform(-0.09, 0.09)
        start = np.array([side, 0.125])
        count = self.times * self.ticks
        towards = np.array([rng.uniform(-0.03, 0.03), -0.10])
        path = start + np.linspace(1.0 / count, 1.0, count)[:, None] * towards
        height = get_object("t_block").rest_height
        return start, path, SE3(SO3.identity(), np.array([0.0, 0.0, height]))


def drawn_data(problem: Problem, prior: Belief, seed: int) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " m"]]:
    """A truth from the prior and what is observed of it."""
    rng = np.random.default_rng([seed, 7])
    truth = PriorMap.of(prior).to_parameters(rng.standard_normal((1, len(problem.parameters))))
    observed = problem.predict(truth)[0].copy()
    model = NoiseModel(problem.noise)
    for group, entries in enumerate(model.groups):
        observed[entries] += model.draw(group, rng)
    return truth[0], observed


def sbc_ranks(world: str, seed: int) -> Int[np.ndarray, " p"]:
    """Ranks of one seed's truth in the default method's posterior."""
    problem = AnalyticWorld(seed) if world == "analytic" else PushedWorld(seed)
    rng = np.random.default_rng([seed, 13])
    posterior, _ = identify_problem(problem, flat_belief(problem.parameters), IdentifyConfig(draws=1000), rng=rng)
    return rank_statistics(problem.truth, posterior.samples, posterior.weights, rng)


def sbc_p(ranks: Int[np.ndarray, "seed p"]) -> float:
    """The smallest chi-square p over parameters, times their number (Bonferroni)."""
    return min(1.0, ranks.shape[1] * min(chi_square_p(column) for column in ranks.T))
