"""Small trainings for tests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from gemel.services.policy.arena import Arena
from gemel.services.policy.nominal_arena import nominal_arena
from gemel.stages.train.config import TrainConfig
from gemel.stages.train.train import Training, make_training
from gemel.stages.train.variants import agents_of

ALL = ("privileged", "noise_trained", "randomised", "randomised_history")
WORLDS, ROLLOUT = 16, 8


def small(**options: Any) -> TrainConfig:
    """A training of seconds."""
    return replace(TrainConfig(worlds=WORLDS, rollout=ROLLOUT, steps=4 * WORLDS * ROLLOUT, save_every=1), **options)


def training(tmp_path: Path, config: TrainConfig, arena: Arena | None = None) -> Training:
    """The training of all its variants, at its beginning."""
    agents = agents_of(config.variants, config.seeds)
    return make_training(arena or nominal_arena(), agents, config, out=tmp_path)
