"""Simulations on an NVIDIA GPU: mujoco_warp, each command one launch of a captured graph.

Warp also runs on the processor, after half a minute of compiling, which is what parity is tested with. Numbers are
float32. What parameters come to in a model, derived constants included, is worked out by MuJoCo itself on the processor
and copied over, so that both back ends have the same models. This file's whole point is warp, so it imports it.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import mujoco_warp as mjw  # noqa: TID253
import numpy as np
import warp as wp  # noqa: TID253
from jaxtyping import Float

from gemel.errors import ConfigError
from gemel.services.sim.drives import DriveSettings
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.readout import is_finite
from gemel.services.sim.simulations import Rows, Simulations, Stretch
from gemel.services.sim.simulator import Rollout
from gemel.services.sim.warp_drives import DrivesWarp
from gemel.services.sim.warp_rows import write_rows

wp.config.log_level = wp.LOG_WARNING
_STATE = ("qpos", "qvel", "act", "ctrl", "qacc_warmstart", "time")
_MOST_ITERATIONS = 20
_PLANE, _SPHERE = 0, 2
"""Codes of mujoco.mjtGeom."""
_ON_PLANE, _ELSEWHERE = 4, 8
"""Points at which a shape touches a plane, or another shape, at most; a sphere touches at one."""


class SimulatorWarp(Simulations):
    """N simulations of a compiled `mujoco.MjModel`; see the `Simulator` protocol."""

    def __init__(
        self,
        model: Any,
        count: int,
        *,
        contacts_per_world: int | None = None,
        constraints_per_world: int | None = None,
        device: str | None = None,
    ) -> None:
        """There is room for all contacts at once unless told otherwise; `device` is as warp names it."""
        super().__init__(model, count)
        contacts, rows = room_needed(model)
        self._device = wp.get_device(device)
        self._host = SimulatorNative(model, count)
        with wp.ScopedDevice(self._device):
            try:
                self._m: Any = on_device(model)
            except (NotImplementedError, ValueError) as error:
                raise ConfigError(
                    f"mujoco_warp cannot simulate this scene: {error}", remedy="simulate it with `native`"
                ) from None
            self._d: Any = mjw.make_data(
                model, count, nconmax=contacts_per_world or contacts, njmax=constraints_per_world or rows
            )
        self._drives: DrivesWarp = DrivesWarp(DriveSettings.ideal(count, model.nu), self.timestep_s, self._device)
        self._is_ramp = False
        self._own_rooms: set[str] = set()
        self._buffer: Any = None
        self._graph: Any = None

    @property
    def qpos(self) -> Float[np.ndarray, "sim nq"]:
        """Present positions."""
        return np.array(self._d.qpos.numpy(), dtype=np.float64)

    @property
    def qvel(self) -> Float[np.ndarray, "sim nv"]:
        """Present velocities."""
        return np.array(self._d.qvel.numpy(), dtype=np.float64)

    def model_of(self, sim: int) -> Any:
        """A copy of the `mujoco.MjModel` with the values of one simulation."""
        return self._host.model_of(sim)

    def _write_fields(self, fields: Mapping[str, np.ndarray], rows: Rows) -> None:
        self._host._write_fields(fields, rows)
        for name, values in self._host.own_values().items():
            owner, part = (self._m.opt, name[4:]) if name.startswith("opt.") else (self._m, name)
            if part in own_fields(type(owner)):
                self._upload(owner, part, values, rows)

    def _upload(self, owner: Any, name: str, values: np.ndarray, rows: Rows) -> None:
        """Values (sim, ...) of a field of the model to the device; the first time the field gets room of its own."""
        field = getattr(owner, name)
        if field.shape[0] == self.count and name in self._own_rooms:
            write_rows(field, rows, values[rows])
            return
        field = wp.empty((self.count, *field.shape[1:]), dtype=field.dtype, device=self._device)
        write_rows(field, np.arange(self.count), values)
        setattr(owner, name, field)
        self._own_rooms.add(name)
        self._graph = None  # it was captured with the old array

    def _place(self, rows: Rows, qpos: np.ndarray, qvel: np.ndarray, held: np.ndarray) -> None:
        given = {"qpos": qpos, "qvel": qvel, "ctrl": held}
        for name in _STATE:
            field = getattr(self._d, name)
            write_rows(field, rows, given.get(name, np.zeros((len(rows), *field.shape[1:]))))

    def rollout(self, controls: Float[np.ndarray, "_ t nu"], *, every: int, is_ramp: bool = False) -> Rollout:
        """Go on from the present state with commands that last `every` physics steps each; see `Simulator`."""
        self._is_ramp = is_ramp
        return super().rollout(controls, every=every, is_ramp=is_ramp)

    def _commands(self, controls: np.ndarray, every: int, is_ramp: bool) -> Iterator[np.ndarray]:
        """Commands as they are: drives work on the device."""
        yield controls

    def _advance(self, commands: Float[np.ndarray, "_ t nu"], every: int) -> Stretch:
        """Command by command; a simulation that breaks down is put back to its last state, at rest."""
        self._prepare(every)
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        before = self.qpos
        for t in range(commands.shape[1]):
            self._drives.fill(commands[:, t], every, self._is_ramp, self._buffer)
            wp.capture_launch(self._graph)
            qpos, qvel = self.qpos, self.qvel
            broken = np.flatnonzero(~is_finite(qpos[:, None], qvel[:, None]))
            if len(broken):
                self._is_diverged[broken] = True
                qpos[broken], qvel[broken] = before[broken], 0.0
                self._place(broken, qpos[broken], qvel[broken], np.array(self._d.ctrl.numpy())[broken])
            sensors = np.nan_to_num(self._d.sensordata.numpy().astype(np.float64)) if self._sensors else None
            found.append((qpos, qvel, np.zeros((self.count, 0)) if sensors is None else sensors))
            before = qpos
        qpos, qvel, sensors = (np.stack(part, axis=1) for part in zip(*found, strict=True))
        return qpos, qvel, sensors

    def _prepare(self, every: int) -> None:
        """Room for the commands of one stretch, and the graph of its steps."""
        if self._buffer is None or self._buffer.shape[0] != every:
            shape = (every, self.count, self.model.nu)
            self._buffer, self._graph = wp.zeros(shape, dtype=float, device=self._device), None
        if self._graph is None:
            with wp.ScopedDevice(self._device):
                saved = {name: wp.clone(getattr(self._d, name)) for name in _STATE}
                mjw.step(self._m, self._d)  # loads what cannot be loaded during a capture
                for name, values in saved.items():
                    wp.copy(getattr(self._d, name), values)
                with wp.ScopedCapture(device=self._device) as capture:
                    self._steps(every)
            self._graph = capture.graph

    def _steps(self, every: int) -> None:
        for step in range(every):
            wp.copy(self._d.ctrl, self._buffer[step])
            mjw.step(self._m, self._d)


def on_device(model: Any, **options: Any) -> Any:
    """The model for mujoco_warp.

    In single precision a few worlds stall just above the solver's tolerance, and all others would wait for them: twenty
    Newton steps are enough. Warnings about it, printed by the device for every world and step, are turned off.
    """
    m = mjw.put_model(model, **options)
    m.opt.iterations = min(int(model.opt.iterations), _MOST_ITERATIONS)
    m.opt.warn_overflow &= ~(mjw.OverflowType.ITERATIONS | mjw.OverflowType.LS_ITERATIONS)
    return m


def room_needed(model: Any) -> tuple[int, int]:
    """Contacts, and rows of constraints, of a scene in which everything that may touch does."""
    contacts, rows = 0, 0
    for pair in range(model.npair):
        kinds = {int(model.geom_type[geom]) for geom in (model.pair_geom1[pair], model.pair_geom2[pair])}
        points = 1 if _SPHERE in kinds else _ON_PLANE if _PLANE in kinds else _ELSEWHERE
        contacts += points
        rows += points * int(model.pair_dim[pair])
    if not model.npair:
        contacts, rows = 4 * model.ngeom, 12 * model.ngeom
    rows += 6 * model.neq + int((model.dof_frictionloss > 0.0).sum()) + model.nv + int(model.jnt_limited.sum())
    return max(contacts, 16), max(rows, 16)


def own_fields(kind: type) -> set[str]:
    """Fields of mujoco_warp's model or options that each simulation can have for itself: their shapes start with *."""
    shapes = {field.name: getattr(field.type, "shape", ()) for field in dataclasses.fields(kind)}
    return {name for name, shape in shapes.items() if shape and shape[0] == "*"}
