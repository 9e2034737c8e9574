"""A simulator on the GPU that can have mujoco_warp alone repeat each control period; all about warp."""

import time
from typing import Any

import mujoco_warp as mjw  # noqa: TID253
import numpy as np
import warp as wp  # noqa: TID253

from gemel.services.sim.simulations import Stretch
from gemel.services.sim.warp import SimulatorWarp, room_needed

_STATE = ("qpos", "qvel", "act", "ctrl", "qacc_warmstart", "time")


class RacingWarp(SimulatorWarp):
    """The bare engine shares the model and has worlds of its own."""

    def __init__(self, model: Any, count: int) -> None:
        super().__init__(model, count)
        self.is_racing, self.spent_s, self.race_s, self.raw_s = False, 0.0, 0.0, 0.0
        contacts, rows = room_needed(model)
        self._bare: Any = mjw.make_data(model, count, nconmax=contacts, njmax=rows)
        self._bare_commands: Any = None
        self._bare_graph: Any = None
        self._graph_of: Any = None

    def _advance(self, commands: np.ndarray, every: int) -> Stretch:
        if self.is_racing:
            started = time.perf_counter()
            for name in _STATE:
                wp.copy(getattr(self._bare, name), getattr(self._d, name))
            wp.synchronize()
            self.race_s += time.perf_counter() - started
        started = time.perf_counter()
        found = super()._advance(commands, every)
        self.spent_s += time.perf_counter() - started
        if self.is_racing:
            started = time.perf_counter()
            self.raw_s += self._repeated(every)
            self.race_s += time.perf_counter() - started
        return found

    def _repeated(self, every: int) -> float:
        """Seconds of the bare engine for the commands that were just carried out."""
        if self._graph_of is not self._graph:  # the simulator's own was made anew: its model has other arrays
            self._bare_commands = wp.zeros_like(self._buffer)
            states = {name: wp.clone(getattr(self._bare, name)) for name in _STATE}
            with wp.ScopedCapture(device=self._device) as capture:
                for step in range(every):
                    wp.copy(self._bare.ctrl, self._bare_commands[step])
                    mjw.step(self._m, self._bare)
            for name, values in states.items():
                wp.copy(getattr(self._bare, name), values)
            self._bare_graph, self._graph_of = capture.graph, self._graph
        wp.copy(self._bare_commands, self._buffer)
        wp.synchronize()
        started = time.perf_counter()
        wp.capture_launch(self._bare_graph)
        wp.synchronize()
        return time.perf_counter() - started
