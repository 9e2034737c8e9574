"""Which back end simulates."""

from typing import Any

from gemel.errors import ConfigError, MissingExtraError, choices_text
from gemel.services.sim.simulations import Simulations

BACKENDS = ("native", "warp")


def make_simulator(model: Any, count: int, backend: str = "native") -> Simulations:
    """Simulations of a `mujoco.MjModel` on the processor (`native`) or on an NVIDIA GPU (`warp`)."""
    if backend not in BACKENDS:
        raise ConfigError(f"Simulator {choices_text(backend, BACKENDS)}", remedy="use one of the choices")
    if count < 1:
        raise ConfigError(f"{count} simulations were asked for.", remedy="ask for at least one")
    if backend == "native":
        from gemel.services.sim.native import SimulatorNative

        return SimulatorNative(model, count)
    try:
        from gemel.services.sim.warp import SimulatorWarp
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), extra="warp", needed_for="Simulating with warp") from None
    return SimulatorWarp(model, count)
