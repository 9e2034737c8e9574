"""A frozen policy at work in many simulations, as its encoders will see it: measured poses, noise and all."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from gemel.services.policy.arena import Arena
from gemel.services.policy.checkpoint import TrainedNetwork
from gemel.services.policy.conditioned import PushController
from gemel.services.policy.estimator import Fixed
from gemel.services.policy.features import ranges_of, widest_sigmas
from gemel.services.policy.history_window import HistoryWindow
from gemel.services.sim.make import make_simulator
from gemel.stages.train.config import TrainConfig
from gemel.stages.train.ground import training_ground


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
    config: TrainConfig | None = None,
) -> Windows:  # fmt: skip
    """Windows of `count` episodes, one of each `every` steps; noise, delays and what the policy is told are drawn as in
    its training, parameters over their whole ranges."""
    rng, task, config = np.random.default_rng(seed), arena.task, config or TrainConfig()
    names = tuple(task.parameter_ranges)
    ground = training_ground(
        arena, make_simulator(arena.model, count, backend), config, seed=int(rng.integers(2**31))
    )  # fmt: skip
    ground.reset(np.arange(count))
    truth = ground.drawn(names)
    low, high = np.array(ranges_of(task, names)).T
    sigma = rng.uniform(0.0, 1.0, (count, 1)) * widest_sigmas(names, ranges_of(task, names), config.told_sigma)
    told = Fixed(names, np.clip(truth + sigma * rng.standard_normal(truth.shape), low, high), sigma)
    controller, window = PushController(network, task, told), HistoryWindow(task)
    controller.start(count)
    window.start(count)
    offset, action = config.tip_offset_m * rng.standard_normal((count, 2)), np.zeros((count, 2))
    noise = np.array([config.pose_noise_m, config.pose_noise_m, config.pose_noise_rad])
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
    done = np.all([ground.arena.holds(c, values) for c in task.success], axis=0)
    return Windows(
        np.concatenate([rows[fine] for rows in inputs]),
        np.tile(targets[fine], (len(inputs), 1)),
        names,
        float(np.mean(done[fine])),
    )
