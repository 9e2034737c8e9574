"""How good a policy is in the scene that it was trained in: one episode in each world, without exploration."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.services.policy.mlp import Mlp
from gemel.services.policy.outcome import TOLERANCES
from gemel.stages.train.push_env import PushEnv


@dataclass(frozen=True, eq=False)
class FinalScore:
    """What the last episodes of one agent came to."""

    episodes: int
    success: float
    """Part that ended inside the task's tolerance."""
    strict: float
    """Part that ended within 1.5 cm and 5 degrees."""
    path: Float[np.ndarray, "t 5"]
    """One episode: object x, y, yaw and tip x, y at the end of each period."""


def final_scores(env: PushEnv, networks: Sequence[Mlp], seed: Sequence[int]) -> list[FinalScore]:
    """Run one whole episode in every world of every agent."""
    env.start(seed, is_training=False)
    task = env.ground.arena.task
    ended = np.zeros(env.count, dtype=bool)
    errors, success = np.full((env.count, 2), np.inf), np.zeros(env.count, dtype=bool)
    paths = []
    for _ in range(round(task.time_limit_s / task.control_period_s)):
        paths.append(_places(env))
        actions = [network(env.policy_view(i)) for i, network in enumerate(networks)]
        step = env.step(np.concatenate(actions))
        first = step.is_over & ~ended
        errors[first], success[first] = step.errors[first], step.is_success[first]
        ended |= first
    metres, degrees = TOLERANCES["strict"]
    strict = (errors[:, 0] <= metres) & (errors[:, 1] <= math.radians(degrees))
    found = []
    for i in range(len(networks)):
        rows = env.rows(i)
        good = np.flatnonzero(success[rows])
        shown = rows.start + (int(good[0]) if len(good) else 0)
        path = np.stack([place[shown] for place in paths])
        found.append(FinalScore(env.worlds_each, float(success[rows].mean()), float(strict[rows].mean()), path))
    return found


def _places(env: PushEnv) -> Float[np.ndarray, "n 5"]:
    values = env.ground.values()
    return np.stack([values[name] for name in ("object/x", "object/y", "object/yaw", "tip/x", "tip/y")], axis=1)
