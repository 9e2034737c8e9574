"""Drives on the device: the same ramp, delay, play and lead as on the processor (`drives.py`).

This file's whole point is warp, so it imports it.
"""

from typing import Any

import numpy as np
import warp as wp  # noqa: TID253
from jaxtyping import Float, Int

from gemel.services.sim.drives import Drives, DriveSettings, DriveState
from gemel.services.sim.warp_kernel import drive
from gemel.services.sim.warp_rows import write_rows


class DrivesWarp(Drives):
    """Drives whose memory lives on a device; the arrays of `Drives` are its copy, up to date when they are needed."""

    def __init__(self, settings: DriveSettings, timestep_s: float, device: Any) -> None:
        super().__init__(settings, timestep_s)
        self._device = device
        self._held = {name: self._on_device(array) for name, array in self._arrays().items()}
        self._latest = np.zeros_like(settings.delay_s)

    def start(self, commands: Float[np.ndarray, "row control"], rows: Int[np.ndarray, " row"]) -> None:
        """Drives of some simulations have been holding these commands."""
        is_deeper = self._past.shape != self._held["past"].shape
        if is_deeper:  # the device knows as many commands as it had room for
            known = self._held["past"].numpy()
            self._past[:] = known[:, :1]
            self._past[:, self._past.shape[1] - known.shape[1] :] = known
        super().start(commands, rows)
        self._latest[rows] = commands
        for name, array in self._arrays().items():
            if is_deeper and name == "past":
                self._held[name] = self._on_device(array)
            else:
                write_rows(self._held[name], rows, array[rows])

    def state(self) -> DriveState:
        """What all drives hold, to be kept; fetched only where it is more than the latest command."""
        if self.settings.is_ideal:
            return self._latest[:, None].copy(), self._latest.copy()
        return self._held["past"].numpy(), self._held["link"].numpy()

    def resume(
        self,
        past: Float[np.ndarray, "row step control"],
        link: Float[np.ndarray, "row control"],
        rows: Int[np.ndarray, " row"],
    ) -> None:
        """Drives of some simulations hold what `state` said of them; to be called after settings and `start`."""
        super().resume(past, link, rows)
        self._latest[rows] = past[:, -1]
        for name, array in self._arrays().items():
            write_rows(self._held[name], rows, array[rows])

    @property
    def latest(self) -> Float[np.ndarray, "sim control"]:
        """The latest command, before delay."""
        return self._latest.copy()

    def fill(self, commands: Float[np.ndarray, "_ control"], every: int, is_ramp: bool, out: Any) -> None:
        """Put what reaches the servos under one command into `out` (every, sim, control) on the device."""
        lines = np.zeros((*self._latest.shape, 2), dtype=np.float32)
        if is_ramp:
            lines[..., 1] = (commands - self._latest) / every
            lines[..., 0] = self._latest + lines[..., 1]
        else:
            lines[..., 0] = commands
        self._latest = np.array(np.broadcast_to(commands, self._latest.shape), dtype=np.float64)
        wp.launch(
            drive, dim=self._latest.shape, device=self._device,
            inputs=[
                wp.array(lines, dtype=float, device=self._device),
                self._held["past"], self._held["link"], self._held["drives"], out,
            ],
        )  # fmt: skip

    def _arrays(self) -> dict[str, np.ndarray]:
        steps = 1.0 / self._timestep_s
        settings = (self.settings.delay_s * steps, self.settings.backlash, self.settings.lead_s * steps)
        return {"past": self._past, "link": self._link, "drives": np.stack(settings, axis=-1)}

    def _on_device(self, array: np.ndarray) -> Any:
        return wp.array(np.ascontiguousarray(array, dtype=np.float32), dtype=float, device=self._device)
