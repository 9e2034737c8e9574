"""The scene in which policies are trained and watched: commands arrive late, by more or less in each episode."""

from dataclasses import replace

from gemel.services.policy.arena import Arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.randomisation import Randomisation
from gemel.services.sim.flight_recorder import FlightRecorder
from gemel.services.sim.simulations import Simulations
from gemel.stages.train.config import TrainConfig


def training_ground(
    arena: Arena, simulator: Simulations, config: TrainConfig, *, recorder: FlightRecorder | None = None, seed: int = 0
) -> Playground:
    """Simulations of an arena whose delay is spread evenly about its own."""
    arena.check_criteria()
    early_s = max(0.0, arena.delay_s - config.delay_spread_s)
    late = Randomisation(delay_s=arena.delay_s + config.delay_spread_s - early_s)
    return Playground(replace(arena, delay_s=early_s), simulator, randomisation=late, recorder=recorder, seed=seed)
