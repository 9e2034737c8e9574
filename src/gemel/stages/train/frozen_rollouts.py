"""A frozen policy at work in many simulations, as its encoders will see it: measured poses, noise and all."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Float32

from gemel.services.policy.arena import Arena
from gemel.services.policy.checkpoint import TrainedNetwork
from gemel.services.policy.conditioned import PushController, largest_sigmas
from gemel.services.policy.estimator import Fixed
from gemel.services.policy.features import ranges_of
from gemel.services.policy.history_window import HistoryWindow
from gemel.services.policy.nominal_arena import DELAY_SPREAD_S
from gemel.services.policy.playground import Playground
from gemel.services.policy.randomisation import Randomisation
from gemel.services.sim.make import make_simulator


@dataclass(frozen=True)
class SeenWith:
    """How the scene is measured in training; defaults are those of `gemel bench track` and of an arm as delivered."""

    position_m: float = 0.0008
    """White error of positions, per axis [m]."""
    heading_rad: float = 0.007
    """White error of headings [rad]."""
    offset_m: float = 0.004
    """Constant error of the tip in an episode, per axis [m]."""


@dataclass(frozen=True, eq=False)
class Windows:
    """What encoders learn from."""

    inputs: Float32[np.ndarray, "row input"]
    targets: Float[np.ndarray, "row parameter"]
    """True parameters in units of their ranges, -1 to 1."""
    names: tuple[str, ...]
    success: float
    """Part of the episodes that ended in success: whether the policy is any good."""


def frozen_rollouts(
    network: TrainedNetwork, arena: Arena, *, count: int, seed: int, every: int = 2, backend: str = "native",
    seen_with: SeenWith | None = None,
) -> Windows:  # fmt: skip
    """Windows of `count` episodes, one of each `every` steps, over the whole ranges of the task's parameters."""
    rng, task, seen_with = np.random.default_rng(seed), arena.task, seen_with or SeenWith()
    names = tuple(task.parameter_ranges)
    ground = Playground(
        arena, make_simulator(arena.model, count, backend), seed=int(rng.integers(2**31)),
        randomisation=replace(Randomisation.none(), is_physics=True, delay_s=DELAY_SPREAD_S),
    )  # fmt: skip
    ground.reset(np.arange(count))
    truth = ground.drawn(names)
    low, high = np.array(ranges_of(task, names)).T
    sigma = rng.uniform(0.0, 1.0, (count, 1)) * largest_sigmas(names, ranges_of(task, names))
    told = Fixed(names, np.clip(truth + sigma * rng.standard_normal(truth.shape), low, high), sigma)
    controller, window = PushController(network, task, told), HistoryWindow(task)
    controller.start(count)
    window.start(count)
    offset, action = seen_with.offset_m * rng.standard_normal((count, 2)), np.zeros((count, 2))
    noise = np.array([seen_with.position_m, seen_with.position_m, seen_with.heading_rad])
    inputs, values = [], ground.values()
    for step in range(round(task.time_limit_s / task.control_period_s)):
        poses = np.column_stack([values["object/x"], values["object/y"], values["object/yaw"]])
        poses = poses + noise * rng.standard_normal(poses.shape)
        tips = np.column_stack([values["tip/x"], values["tip/y"]]) + offset
        window.push(poses, tips, window.in_object(action))
        if step % every == 0:
            inputs.append(window.stacked)
        action = controller.act(poses, tips)
        ground.step(action)
        values = ground.values()
    fine = ~ground.is_diverged
    targets = (truth - 0.5 * (low + high)) / (0.5 * (high - low))
    done = np.all([ground.arena.holds(c, values, count) for c in task.success], axis=0)
    return Windows(
        np.concatenate([rows[fine] for rows in inputs]),
        np.tile(targets[fine], (len(inputs), 1)),
        names,
        float(np.mean(done[fine])),
    )
