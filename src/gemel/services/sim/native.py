"""Simulations on the processor: MuJoCo's own batches, stepped on all cores without a Python loop per step."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import MissingExtraError
from gemel.services.sim.quiet import quiet_warnings
from gemel.services.sim.simulations import Rows, Simulations, Stretch

_RECORD_BYTES = 64e6
"""MuJoCo records every physics step; longer rollouts are cut so that the record stays within this."""
_SIZES = {"qpos": "nq", "qvel": "nv", "sensordata": "nsensordata"}
"""What is recorded, and what the model calls its width."""


class SimulatorNative(Simulations):
    """N simulations of a compiled `mujoco.MjModel`; see the `Simulator` protocol."""

    def __init__(self, model: Any, count: int, *, threads: int = 0) -> None:
        try:
            from mujoco import batch
        except ModuleNotFoundError:
            raise MissingExtraError("mujoco", extra="sim", needed_for="Simulating") from None
        super().__init__(model, count)
        self._batch: Any = batch.Batch(model, count, threads)
        self._simulation_error: type[Exception] = batch.SimulationError
        self._own_fields: set[str] = set()

    @property
    def qpos(self) -> Float[np.ndarray, "sim nq"]:
        """Present positions."""
        return np.array(self._batch.bind("qpos"))

    @property
    def qvel(self) -> Float[np.ndarray, "sim nv"]:
        """Present velocities."""
        return np.array(self._batch.bind("qvel"))

    def model_of(self, sim: int) -> Any:
        """A copy of the `mujoco.MjModel` with the values of one simulation."""
        return self._batch.get_model(sim)

    def own_values(self) -> dict[str, np.ndarray]:
        """Model fields that differ between simulations, derived constants included, (sim, *shape of the field)."""
        from mujoco.batch import MODEL_FIELDS

        values = {name: self._batch.expanded(name) for name in sorted(MODEL_FIELDS)}
        return {name: rows for name, rows in values.items() if rows is not None}

    def _write_fields(self, fields: Mapping[str, np.ndarray], rows: Rows) -> None:
        written = self._own_fields = self._own_fields | set(fields)
        for field in written:
            self._batch.expand(field)[rows] = fields.get(field, self._compiled(field))
        if any(field.startswith("opt.") or field in self.model._setconst_inputs for field in written):
            # Without this MuJoCo goes on with constants of the old mass and centre of mass.
            self._batch.set_const(None if len(rows) == self.count else rows)

    def _place(self, rows: Rows, qpos: np.ndarray, qvel: np.ndarray, held: np.ndarray) -> None:
        self._batch.reset(None if len(rows) == self.count else rows, stage=0)
        for name, values in (("qpos", qpos), ("qvel", qvel), ("ctrl", held)):
            self._batch.bind(name)[rows] = values

    def _commands_at_once(self, every: int) -> int:
        width = self.model.nq + self.model.nv + self.model.nsensordata
        return max(1, int(_RECORD_BYTES / max(1, 8 * width * every * self.count)))

    def _advance(self, commands: Float[np.ndarray, "_ step nu"], every: int) -> Stretch:
        """MuJoCo stops a simulation at its first warning: the state stays, and later entries repeat the last ones."""
        steps = commands.shape[1]
        items = ["qpos", "qvel", *(["sensordata"] if self._sensors else [])]
        if steps == every:  # the state itself is what one command leads to
            if self._sensors:
                self._batch.bind("sensordata")
            broken = self._run(commands, {})
            kept = {item: np.array(self._batch.bind(item))[:, None] for item in items}
        else:
            out = {item: np.empty((self.count, steps, getattr(self.model, _SIZES[item]))) for item in items}
            broken = self._run(commands, out)
            for item in items:
                out[item][broken] = self._batch.bind(item)[broken][:, None]
            kept = {item: rows[:, every - 1 :: every] for item, rows in out.items()}
        if self._sensors:
            kept["sensordata"][broken] = 0.0
        self._is_diverged[broken] = True
        self._is_diverged |= np.asarray(self._batch.warning)[:, :, 1].any(axis=1)
        return kept["qpos"], kept["qvel"], kept.get("sensordata", np.zeros((self.count, steps // every, 0)))

    def _run(self, commands: np.ndarray, out: dict[str, np.ndarray]) -> list[int]:
        """Step all simulations, recording into `out`; returns those in which MuJoCo raised an error."""
        try:
            with quiet_warnings():
                self._batch.rollout(commands.shape[1], commands, record=list(out), out=out)
        except self._simulation_error as error:
            return list(error.ids)  # type: ignore[attr-defined]
        return []
