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


def bare_warp(
    model: Any,
    qpos: np.ndarray,
    held: np.ndarray,
    commands: Sequence[np.ndarray],
    fields: Mapping[str, np.ndarray],
    every: int,
) -> tuple[Callable[[], float], float]:
    """A function that runs all commands (sim, step, nu) and returns its seconds, and the bytes that worlds take."""
    count, (contacts, rows) = len(qpos), room_needed(model)
    free = wp.get_device().free_memory
    sizes = {name: count for name in fields if name in own_fields(mjw.Model)}
    m = on_device(model, batch_sizes=sizes)
    for name in sizes:
        field = getattr(m, name)
        field.assign(np.ascontiguousarray(fields[name], dtype=np.float32).reshape(field.numpy().shape))
    d = mjw.make_data(model, count, nconmax=contacts, njmax=rows)
    wp.synchronize()
    taken = free - wp.get_device().free_memory
    told = [wp.array(np.ascontiguousarray(np.swapaxes(c, 0, 1), dtype=np.float32), dtype=float) for c in commands]
    buffer = wp.zeros_like(told[0])
    start = {
        "qpos": qpos,
        "qvel": np.zeros((count, model.nv)),
        "ctrl": held,
        "qacc_warmstart": np.zeros((count, model.nv)),
    }

    def reset() -> None:
        for name, values in start.items():
            getattr(d, name).assign(np.ascontiguousarray(values, dtype=np.float32))
        d.time.zero_()

    reset()
    mjw.step(m, d)
    with wp.ScopedCapture() as capture:
        for step in range(every):
            wp.copy(d.ctrl, buffer[step])
            mjw.step(m, d)

    def run() -> float:
        reset()
        wp.synchronize()
        started = time.perf_counter()
        for command in told:
            wp.copy(buffer, command)
            wp.capture_launch(capture.graph)
        wp.synchronize()
        assert m is not None  # the graph reads the model's arrays, which live as long as this function knows the model
        return time.perf_counter() - started

    return run, float(taken)
