"""The bare engine on the GPU: mujoco_warp alone, one captured graph for each control period; all about warp."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mujoco_warp as mjw  # noqa: TID253
import numpy as np
import warp as wp  # noqa: TID253

from gemel.services.sim.warp import SimulatorWarp, on_device, own_fields, room_needed


class ListeningWarp(SimulatorWarp):
    """A simulator that can say what reached the servos last."""

    @property
    def sent(self) -> np.ndarray:
        """(sim, step, nu) of the last command."""
        return np.swapaxes(self._buffer.numpy(), 0, 1)


class BareWarp:
    """Worlds and the graph of one control period; the graph reads the model's arrays, so they live together."""

    def __init__(
        self, model: Any, qpos: np.ndarray, held: np.ndarray, fields: Mapping[str, np.ndarray], every: int
    ) -> None:
        """Worlds that start at `qpos` (sim, nq), hold `held` (sim, nu) and have their own model `fields`."""
        count, (contacts, rows) = len(qpos), room_needed(model)
        free = wp.get_device().free_memory
        sizes = {name: count for name in fields if name in own_fields(mjw.Model)}
        self._m: Any = on_device(model, batch_sizes=sizes)
        for name in sizes:
            field = getattr(self._m, name)
            field.assign(np.ascontiguousarray(fields[name], dtype=np.float32).reshape(field.numpy().shape))
        self._d: Any = mjw.make_data(model, count, nconmax=contacts, njmax=rows)
        wp.synchronize()
        self.bytes_taken = float(free - wp.get_device().free_memory)
        still = np.zeros((count, model.nv))
        self._start = {"qpos": qpos, "qvel": still, "ctrl": held, "qacc_warmstart": still}
        self._buffer: Any = wp.zeros((every, count, model.nu), dtype=float)
        self._reset()
        mjw.step(self._m, self._d)  # loads what cannot be loaded during a capture
        with wp.ScopedCapture() as capture:
            for step in range(every):
                wp.copy(self._d.ctrl, self._buffer[step])
                mjw.step(self._m, self._d)
        self._graph: Any = capture.graph

    def seconds(self, commands: Sequence[Any]) -> float:
        """Run commands, warp arrays (step, sim, nu), from the start; how long it took."""
        self._reset()
        wp.synchronize()
        started = time.perf_counter()
        for command in commands:
            wp.copy(self._buffer, command)
            wp.capture_launch(self._graph)
        wp.synchronize()
        return time.perf_counter() - started

    def _reset(self) -> None:
        for name, values in self._start.items():
            getattr(self._d, name).assign(np.ascontiguousarray(values, dtype=np.float32))
        self._d.time.zero_()


def bare_warp(
    model: Any,
    qpos: np.ndarray,
    held: np.ndarray,
    commands: Sequence[np.ndarray],
    fields: Mapping[str, np.ndarray],
    every: int,
) -> tuple[Callable[[], float], float]:
    """A function that runs all commands (sim, step, nu) and returns its seconds, and the bytes that worlds take."""
    bare = BareWarp(model, qpos, held, fields, every)
    told = [wp.array(np.ascontiguousarray(np.swapaxes(c, 0, 1), dtype=np.float32), dtype=float) for c in commands]
    return lambda: bare.seconds(told), bare.bytes_taken
