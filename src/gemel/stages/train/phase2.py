"""Phase 2 of the seed: the policy is frozen, and encoders learn to read physics from what happens.

`train_estimators` needs neither a screen nor a store, so that it runs wherever a policy was trained.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gemel import __version__
from gemel.errors import ConfigError
from gemel.services.policy.arena import Arena
from gemel.services.policy.checkpoint import TrainedNetwork, conditioned_meta, load_network, save_network
from gemel.services.policy.features import ranges_of
from gemel.services.policy.mlp import Mlp
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.stages.train.frozen_rollouts import frozen_rollouts
from gemel.stages.train.gaussian_fit import FitConfig, fit_gaussian


@dataclass(frozen=True)
class Phase2Config:
    """How much is collected and how encoders are fitted."""

    episodes: int = 1024
    """Episodes of the frozen policy."""
    members: int = 10
    """Encoders of the ensemble."""
    hidden: tuple[int, ...] = (48, 48)
    steps: int = 3000
    """Steps of the optimiser."""
    batch: int = 512
    """Windows that each encoder sees in a step."""
    backend: str = "native"
    """Simulator: native or warp."""
    device: str = "cpu"
    """Where the networks are fitted."""


def train_estimators(
    policy_path: Path,
    out: Path,
    *,
    seed: int = 0,
    config: Phase2Config | None = None,
    arena: Arena | None = None,
    command: str = "gemel train",
    say: Callable[[str], None] = lambda text: None,
) -> TrainedNetwork:
    """Encoders for a `noise_trained` policy, written to `out`; in the task's nominal scene unless an arena is given."""
    config = config or Phase2Config()
    network = load_network(policy_path, "policy")
    if network.meta["variant"] not in ("noise_trained", "privileged"):
        raise ConfigError(
            f"{policy_path} is a policy of variant {network.meta['variant']!r}; encoders are trained on one that is "
            "told parameters.",
            remedy="give the noise_trained policy of this seed",
        )
    arena = arena or nominal_arena(str(network.meta["task"]))
    windows = frozen_rollouts(network, arena, count=config.episodes, seed=seed * 7919 + 11, backend=config.backend)
    say(f"{len(windows.inputs)} windows of {config.episodes} episodes, {100.0 * windows.success:.0f} % successful")
    fitted = fit_gaussian(
        windows.inputs, windows.targets,
        FitConfig(hidden=config.hidden, members=config.members, steps=config.steps, batch=config.batch),
        seed=seed, device=config.device,
    )  # fmt: skip
    say(f"encoders fitted, loss {fitted.loss:.3f}")
    meta = {
        "task": arena.task.name,
        "seed": seed,
        "conditioned_on": conditioned_meta(windows.names, ranges_of(arena.task, windows.names)),
        "control_period_s": arena.task.control_period_s,
        "frozen": f"{network.meta['variant']}-{network.meta['seed']}",
        "made_by": {
            "command": command, "twin": dict(network.meta["made_by"]).get("twin", "nominal"),
            "steps": len(windows.inputs), "version": __version__,
        },
    }  # fmt: skip
    layers = Mlp(
        tuple(w.astype(np.float32) for w in fitted.weights),
        tuple(b.reshape(config.members, -1).astype(np.float32) for b in fitted.biases),
        np.repeat(fitted.mean[None], config.members, axis=0),
        np.repeat(fitted.std[None], config.members, axis=0),
    )
    return save_network(out, "encoders", meta, layers)
