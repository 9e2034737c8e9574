"""The scene in which policies are trained and watched: commands arrive late, by more or less in each episode."""

from dataclasses import replace

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.services.policy.arena import Arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.randomisation import Randomisation
from gemel.services.sim.flight_recorder import FlightRecorder
from gemel.services.sim.simulations import Simulations
from gemel.stages.train.config import TrainConfig


def training_ground(
    arena: Arena, simulator: Simulations, config: TrainConfig, *, recorder: FlightRecorder | None = None, seed: int = 0
) -> Playground:
    """Simulations of an arena whose delay is spread evenly about its own, believed or not."""
    arena.check_criteria()
    early_s = max(0.0, arena.delay_s - config.delay_spread_s)
    late = Randomisation(delay_s=arena.delay_s + config.delay_spread_s - early_s)
    belief = None if arena.belief is None else _spread(arena.belief, config.delay_spread_s)
    arena = replace(arena, delay_s=early_s, belief=belief)
    return Playground(arena, simulator, randomisation=late, recorder=recorder, seed=seed)


def _spread(belief: Belief, spread_s: float) -> Belief:
    """The belief with its delays, of all joints alike, up to so much earlier or later in each sample."""
    columns = [column for column, name in enumerate(belief.names) if name.endswith("/delay")]
    samples = belief.samples.copy()
    count = len(samples)
    shifts = np.random.default_rng(count).permutation(np.linspace(-spread_s, spread_s, count))
    samples[:, columns] = np.maximum(samples[:, columns] + shifts[:, None], 0.0)
    return replace(belief, samples=samples)
