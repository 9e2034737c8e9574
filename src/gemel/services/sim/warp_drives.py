"""Drives on the device: the same ramp, delay, play and lead as `drive_kernel.py`, one thread for each control.

This file's whole point is warp, so it imports it.
"""

from typing import Any

import numpy as np
import warp as wp  # noqa: TID253
from jaxtyping import Float, Int

from gemel.services.sim.drives import Drives, DriveSettings
from gemel.services.sim.warp_rows import write_rows

_ARRAYS = ("past", "link", "delay", "play", "lead")
"""In the order of the kernel's arguments."""


@wp.func
def _undelayed(command: float, before: float, past: Any, s: int, c: int, step: int, every: int, is_ramp: int) -> float:
    """The command of one step of this period, or of one before it."""
    if step < 0:
        return past[s, wp.max(past.shape[1] + step, 0), c]
    if is_ramp == 0:
        return command
    return before + (command - before) * float(step + 1) / float(every)


@wp.kernel(enable_backward=False)
def _drive(
    commands: wp.array2d(dtype=float),
    past: wp.array3d(dtype=float),
    link: wp.array2d(dtype=float),
    delay: wp.array2d(dtype=float),
    play: wp.array2d(dtype=float),
    lead: wp.array2d(dtype=float),
    every: int,
    is_ramp: int,
    out: wp.array3d(dtype=float),
):  # type: ignore[no-untyped-def]
    """What reaches the servos at each of `every` steps; delay and lead in steps, play is half of it."""
    s, c = wp.tid()
    command, depth = commands[s, c], past.shape[1]
    before = past[s, depth - 1, c]
    whole = int(delay[s, c])
    part = delay[s, c] - float(whole)
    y = link[s, c]
    for j in range(every):
        late = _undelayed(command, before, past, s, c, j - whole, every, is_ramp)
        if part > 0.0:
            later = _undelayed(command, before, past, s, c, j - whole - 1, every, is_ramp)
            late = (1.0 - part) * late + part * later
        last = y
        y = wp.min(wp.max(y, late - play[s, c]), late + play[s, c])
        out[j, s, c] = y + lead[s, c] * (y - last)
    link[s, c] = y
    for k in range(depth):  # ascending: what is read lies ahead of what has been written
        past[s, k, c] = _undelayed(command, before, past, s, c, every - depth + k, every, is_ramp)


class DrivesWarp(Drives):
    """Drives whose memory lives on a device; the arrays of `Drives` are its copy, up to date when they are needed."""

    def __init__(self, settings: DriveSettings, timestep_s: float, device: Any) -> None:
        super().__init__(settings, timestep_s)
        self._device = device
        self._held = {name: self._on_device(array) for name, array in self._arrays().items()}
        self._commands = wp.zeros(settings.delay_s.shape, dtype=float, device=device)

    def start(self, commands: Float[np.ndarray, "row control"], rows: Int[np.ndarray, " row"]) -> None:
        """Drives of some simulations have been holding these commands."""
        is_deeper = self._past.shape != self._held["past"].shape
        if is_deeper:  # the device knows as many commands as it had room for
            known = self._held["past"].numpy()
            self._past[:, self._past.shape[1] - known.shape[1] :] = known
        super().start(commands, rows)
        for name, array in self._arrays().items():
            if is_deeper and name == "past":
                self._held[name] = self._on_device(array)
            else:
                write_rows(self._held[name], rows, array[rows])

    @property
    def latest(self) -> Float[np.ndarray, "sim control"]:
        """The latest command, before delay."""
        return np.array(self._held["past"].numpy()[:, -1], dtype=np.float64)

    def fill(self, commands: Float[np.ndarray, "_ control"], every: int, is_ramp: bool, out: Any) -> None:
        """Put what reaches the servos under one command into `out` (every, sim, control) on the device."""
        whole = np.broadcast_to(commands, self._commands.shape)
        self._commands.assign(np.ascontiguousarray(whole, dtype=np.float32))
        wp.launch(
            _drive, dim=self._commands.shape, device=self._device,
            inputs=[self._commands, *(self._held[name] for name in _ARRAYS), every, int(is_ramp), out],
        )  # fmt: skip

    def _arrays(self) -> dict[str, np.ndarray]:
        steps = 1.0 / self._timestep_s
        return {
            "past": self._past, "link": self._link, "delay": self.settings.delay_s * steps,
            "play": self.settings.backlash, "lead": self.settings.lead_s * steps,
        }  # fmt: skip

    def _on_device(self, array: np.ndarray) -> Any:
        return wp.array(np.ascontiguousarray(array, dtype=np.float32), dtype=float, device=self._device)
