"""Simulations of a twin, one for each draw of its belief."""

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin
from gemel.services.sim.compile import CompileConfig, CompiledTwin, compile_twin
from gemel.services.sim.native import SimulatorNative


def simulate_twin(
    twin: Twin,
    blobs: Blobs,
    draws: Float[np.ndarray, "sim parameter"],
    *,
    threads: int = 0,
    config: CompileConfig | None = None,
) -> tuple[SimulatorNative, CompiledTwin]:
    """A simulator whose simulations have these draws (columns as in `twin.belief.names`), and the scene."""
    scene = compile_twin(twin, blobs, config=config)
    simulator = SimulatorNative(scene.model, len(draws), threads=threads)
    simulator.set_parameters(twin.belief.names, draws)
    simulator.reset(scene.qpos(None))
    return simulator, scene


def draw_samples(twin: Twin, count: int, rng: np.random.Generator) -> Float[np.ndarray, "sim parameter"]:
    """Draws of the belief, by its weights."""
    rows = rng.choice(len(twin.belief.samples), size=count, p=twin.belief.weights)
    return twin.belief.samples[rows]
