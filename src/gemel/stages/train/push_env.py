"""Many pushes at once, as agents see them: observations for policies and critics, rewards, ends and new episodes.

All agents share one `Playground`; each has its own stretch of worlds and its own kind of observation. A policy sees the
object through a tracker (white noise) and the tip through its arm (an offset that lasts an episode); it acts in the
object's frame as it sees it. The critic sees the truth besides: velocities, parameters, offset, time left. Episodes end
with failure or with the task's time, never with success: what is in its place has to stay there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from gemel.services.policy.features import (
    WIDTH,
    FeatureHistory,
    action_bound_m,
    push_features,
    to_world,
    told_parameters,
    widest_sigmas,
)
from gemel.services.policy.playground import Playground
from gemel.services.policy.reward import rewards
from gemel.stages.train.config import TrainConfig
from gemel.stages.train.variants import Agent

Rows = Int[np.ndarray, " row"]
_COHORT_STEPS = 10
"""Episodes begin, and so end, at multiples of this: a few large resets cost less than many small ones."""
_FREE_M = 0.25
"""Objects that start anywhere do so within this distance of the goal [m]..."""
_BESIDE_M = (0.16, 0.30)
"""...and tips this far from the middle of the object, clear of it [m]."""


@dataclass(frozen=True, eq=False)
class Step:
    """What one control period brought, one entry for each world."""

    rewards: Float32[np.ndarray, " n"]
    is_over: Bool[np.ndarray, " n"]
    is_out_of_time: Bool[np.ndarray, " n"]
    """Ended by the clock alone: what would have come has its worth."""
    is_counted: Bool[np.ndarray, " n"]
    """Ended an episode that had its whole time and started as the task says."""
    is_success: Bool[np.ndarray, " n"]
    """Inside the task's tolerance now."""
    errors: Float[np.ndarray, "n 2"]
    """Position [m] and yaw [rad] errors now; infinite in a world that broke down."""


@dataclass(eq=False)
class Worlds:
    """What the environment remembers of each world."""

    count: int
    told_count: int
    offset: np.ndarray = field(init=False)
    tip: np.ndarray = field(init=False)
    """Where the tip was seen last."""
    seen_yaw: np.ndarray = field(init=False)
    past: np.ndarray = field(init=False)
    mean: np.ndarray = field(init=False)
    sigma: np.ndarray = field(init=False)
    is_whole: np.ndarray = field(init=False)
    """Whether the episode had, or will have had, its whole time."""
    is_free: np.ndarray = field(init=False)
    """Whether it started anywhere, and not as the task says."""

    def __post_init__(self) -> None:
        n = self.count
        self.offset, self.tip, self.seen_yaw = np.zeros((n, 2)), np.zeros((n, 2)), np.zeros(n)
        self.past, self.is_whole = np.zeros((n, 2, 2)), np.ones(n, dtype=bool)
        self.is_free = np.zeros(n, dtype=bool)
        self.mean, self.sigma = np.zeros((n, self.told_count)), np.zeros((n, self.told_count))


class PushEnv:
    """Worlds of all agents, stepped together."""

    def __init__(
        self, ground: Playground, agents: Sequence[Agent], config: TrainConfig, conditioned_on: tuple[str, ...],
        ranges: Sequence[tuple[float, float]],
    ) -> None:  # fmt: skip
        self.ground, self.agents, self.config = ground, tuple(agents), config
        self.conditioned_on, self.ranges = conditioned_on, list(ranges)
        self._widest = widest_sigmas(conditioned_on, self.ranges, config.told_sigma)
        self.worlds_each = ground.count // len(agents)
        self.diverged = 0
        """Worlds that broke down so far."""
        task = ground.arena.task
        self._task, self._bound_m = task, action_bound_m(task)
        self._last = round(task.time_limit_s / task.control_period_s)
        self._told_by_agent = [agent.variant.told for agent in agents]
        self._anywhere = config.anywhere
        self._worlds = Worlds(ground.count, len(conditioned_on))
        self._histories = {
            i: FeatureHistory(self.worlds_each, agent.variant.history)
            for i, agent in enumerate(agents) if agent.variant.history > 1
        }  # fmt: skip
        model, body = ground.arena.model, ground.arena.model.body(ground.arena.object).id
        self._object_dof = int(model.jnt_dofadr[model.body_jntadr[body]])
        belief = ground.arena.belief
        parameters = belief.parameters if belief is not None and ground.randomisation.is_physics else ()
        self._true_names = [p.name for p in parameters]
        self._true_ranges = [task.parameter_ranges.get(p.name, (p.low, p.high)) for p in parameters]
        self._truth = np.zeros((ground.count, len(parameters)), dtype=np.float32)
        self._features = np.zeros((ground.count, WIDTH), dtype=np.float32)
        self._critic = np.zeros((ground.count, WIDTH + 6 + len(parameters)), dtype=np.float32)

    @property
    def count(self) -> int:
        """Worlds of all agents together."""
        return self.ground.count

    def rows(self, agent: int) -> slice:
        """The worlds of one agent."""
        return slice(agent * self.worlds_each, (agent + 1) * self.worlds_each)

    def start(self, seed: Sequence[int], *, is_training: bool = True) -> None:
        """Begin episodes everywhere: in training as if worlds had been running for different whiles, and some anywhere;
        else all as the task says."""
        self.ground.rng = np.random.default_rng(list(seed))
        self._anywhere = self.config.anywhere if is_training else 0.0
        self._begin(np.arange(self.count))
        if is_training:
            self.ground.steps[:] = _COHORT_STEPS * self.ground.rng.integers(0, self._last // _COHORT_STEPS, self.count)
            self._worlds.is_whole[:] = self.ground.steps == 0
        self._look(self.ground.values(), np.arange(self.count))

    def step(self, actions: Float[np.ndarray, "n 2"]) -> Step:
        """One control period of all worlds; episodes that end begin anew."""
        ground, worlds = self.ground, self._worlds
        actions = np.clip(np.nan_to_num(actions.astype(np.float64)), -1.0, 1.0)
        change, worlds.past[:, 1] = actions - worlds.past[:, 0], worlds.past[:, 0]
        worlds.past[:, 0] = actions
        ground.step(self._bound_m * to_world(actions, worlds.seen_yaw))
        values = ground.values()
        success, failed = ground.is_success(values), ground.is_failure(values)
        out_of_time = (ground.steps >= self._last) & ~failed
        over = failed | out_of_time
        gain = self._task.control_period_s * rewards(self._task, values, change, success)
        errors = np.stack([values["object/position_error"], values["object/yaw_error"]], axis=1)
        gain[ground.is_diverged], errors[ground.is_diverged] = 0.0, np.inf
        result = Step(
            gain.astype(np.float32),
            over,
            out_of_time,
            over & worlds.is_whole & ~worlds.is_free,
            success & ~failed,
            errors,
        )
        self.diverged += int(ground.is_diverged.sum())
        ended = np.flatnonzero(over)
        if len(ended):
            self._begin(ended)
            values = ground.values()
        self._look(values, ended)
        return result

    def true_values(self) -> Float[np.ndarray, "n p"]:
        """What could be told, in each world; centres of mass in the task's frame of the object."""
        arena, values = self.ground.arena, self.ground.drawn(self.conditioned_on)
        names = [f"object/{arena.object}/com_{axis}" for axis in "xyz"]
        if set(names) & set(self.conditioned_on):
            T_task_object = arena.T_object_task.inverse()
            com = self.ground.drawn(names) @ T_task_object.rotation.as_matrix().T + T_task_object.translation
            for axis, name in enumerate(names):
                if name in self.conditioned_on:
                    values[:, self.conditioned_on.index(name)] = com[:, axis]
        return values

    def policy_view(self, agent: int) -> Float32[np.ndarray, "n _"]:
        """What one agent's policy sees now."""
        rows, variant = self.rows(agent), self.agents[agent].variant
        seen = self._histories[agent].stacked if agent in self._histories else self._features[rows]
        if variant.told == "nothing":
            return seen
        told = told_parameters(self._worlds.mean[rows], self._worlds.sigma[rows], self.ranges)
        return np.concatenate([seen, told], axis=1)

    def critic_view(self, agent: int) -> Float32[np.ndarray, "n _"]:
        """What one agent's critic sees now."""
        return self._critic[self.rows(agent)]

    def _begin(self, rows: Rows) -> None:
        """New episodes: physics, places, errors of the arm, and what policies are told."""
        ground, worlds = self.ground, self._worlds
        worlds.is_free[rows] = ground.rng.uniform(size=len(rows)) < self._anywhere
        ground.reset(rows, self._starts(worlds.is_free[rows]))
        worlds.offset[rows] = self.config.tip_offset_m * ground.rng.standard_normal((len(rows), 2))
        worlds.past[rows], worlds.is_whole[rows] = 0.0, True
        assert ground.arena.arm is not None
        worlds.tip[rows] = ground.arena.arm.tips(ground.arena.readings(ground.qpos[rows])) + worlds.offset[rows]
        true = self.true_values()[rows]
        sigma = ground.rng.uniform(0.0, self._widest, true.shape)
        error = sigma * ground.rng.standard_normal(true.shape)
        is_estimate = self._is_estimate()[rows, None]
        worlds.mean[rows] = true + np.where(is_estimate, error, 0.0)
        worlds.sigma[rows] = np.where(is_estimate, sigma, 0.0)
        exact = ground.drawn(self._true_names)[rows]
        self._truth[rows] = told_parameters(exact, np.zeros_like(exact), self._true_ranges)[:, : exact.shape[1]]

    def _starts(self, is_free: Bool[np.ndarray, " n"]) -> dict[str, np.ndarray]:
        """Where object and tip start: as the task says, or somewhere about the goal with the tip anywhere beside it."""
        rng, goal, count = self.ground.rng, self._task.goal, len(is_free)
        found = {n: rng.uniform(low, high, count) for n, (low, high) in self._task.initial_conditions.items()}
        away, heading = _FREE_M * np.sqrt(rng.uniform(size=count)), rng.uniform(-np.pi, np.pi, count)
        beside, side = rng.uniform(*_BESIDE_M, count), rng.uniform(-np.pi, np.pi, count)
        x, y = goal["object/x"] + away * np.cos(heading), goal["object/y"] + away * np.sin(heading)
        free = {"object/x": x, "object/y": y, "tip/x": x + beside * np.cos(side), "tip/y": y + beside * np.sin(side)}
        return found | {name: np.where(is_free, value, found.get(name, value)) for name, value in free.items()}

    def _look(self, values: Mapping[str, np.ndarray], begun: Rows) -> None:
        """Make the observations of all worlds; `begun` are those whose episodes have just begun."""
        ground, worlds = self.ground, self._worlds
        true = np.stack([values["object/x"], values["object/y"], values["object/yaw"]], axis=1)
        tip = np.stack([values["tip/x"], values["tip/y"]], axis=1)
        noise = ground.rng.standard_normal(true.shape, dtype=np.float32)
        noise *= np.array([self.config.pose_noise_m] * 2 + [self.config.pose_noise_rad], dtype=np.float32)
        seen, seen_tip = true + noise, tip + worlds.offset
        self._features = push_features(seen, seen_tip, worlds.tip, worlds.past, self._task)
        at, critic = self._object_dof, np.empty_like(self._critic)
        critic[:, :WIDTH] = push_features(true, tip, worlds.tip - worlds.offset, worlds.past, self._task)
        critic[:, WIDTH : WIDTH + 2] = ground.qvel[:, at : at + 2]
        critic[:, WIDTH + 2] = ground.qvel[:, at + 5]
        critic[:, WIDTH + 3] = 1.0 - ground.steps / self._last
        critic[:, WIDTH + 4 : WIDTH + 6] = worlds.offset
        critic[:, WIDTH + 6 :] = self._truth
        self._critic, worlds.seen_yaw, worlds.tip = critic, seen[:, 2], seen_tip
        for agent, history in self._histories.items():
            rows = self.rows(agent)
            history.push(self._features[rows])
            own = begun[(begun >= rows.start) & (begun < rows.stop)]
            history.start(self._features[own], own - rows.start)

    def _is_estimate(self) -> Bool[np.ndarray, " n"]:
        return np.repeat([told == "estimate" for told in self._told_by_agent], self.worlds_each)
