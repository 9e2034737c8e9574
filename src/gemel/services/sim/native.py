"""Simulations on the processor: MuJoCo's own batches, stepped on all cores without a Python loop per step."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError, MissingExtraError
from gemel.geometry import SE3
from gemel.services.sim.body_poses import body_poses
from gemel.services.sim.drives import Drives, DriveSettings
from gemel.services.sim.parameters import ParameterMap
from gemel.services.sim.quiet import quiet_warnings
from gemel.services.sim.readout import broke_down, contact_sensors
from gemel.services.sim.simulator import Rollout
from gemel.services.sim.slots import controls as model_controls

_RECORD_BYTES = 64e6
"""MuJoCo records every physics step; longer rollouts are cut so that the record stays within this."""
_SIZES = {"qpos": "nq", "qvel": "nv", "sensordata": "nsensordata"}
"""What is recorded, and what the model calls its width."""


class SimulatorNative:
    """N simulations of a compiled `mujoco.MjModel`; see the `Simulator` protocol."""

    def __init__(self, model: Any, count: int, *, threads: int = 0) -> None:
        try:
            from mujoco import batch
        except ModuleNotFoundError:
            raise MissingExtraError("mujoco", extra="sim", needed_for="Simulating") from None
        self.model: Any = model
        self._batch: Any = batch.Batch(model, count, threads)
        self._simulation_error: type[Exception] = batch.SimulationError
        self._parameters = ParameterMap(model)
        self._drives = Drives(DriveSettings.ideal(count, model.nu), self.timestep_s)
        self._is_diverged = np.zeros(count, dtype=bool)
        self._sensors = contact_sensors(model)
        self._own_fields: set[str] = set()

    @property
    def count(self) -> int:
        """How many simulations there are."""
        return int(self._batch.nsim)

    @property
    def timestep_s(self) -> float:
        """Length of a physics step [s]."""
        return float(self.model.opt.timestep)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names that `set_parameters` takes."""
        return self._parameters.names

    def has_parameter(self, name: str) -> bool:
        """Whether `set_parameters` takes a name, contacts from either side and restitutions included."""
        return self._parameters.has(name)

    @property
    def parameters(self) -> ParameterMap:
        """What the names mean: bounds, units and compiled values."""
        return self._parameters

    @property
    def qpos(self) -> Float[np.ndarray, "sim nq"]:
        """Present positions."""
        return np.array(self._batch.bind("qpos"))

    @property
    def qvel(self) -> Float[np.ndarray, "sim nv"]:
        """Present velocities."""
        return np.array(self._batch.bind("qvel"))

    def set_parameters(self, names: Sequence[str], values: Float[np.ndarray, "sim parameter"]) -> None:
        """Give each simulation its own values; what is not named is as compiled. State and clock stay."""
        if len(values) != self.count:
            raise ConfigError(
                f"{len(values)} rows of parameters were given for {self.count} simulations.",
                remedy="give one row for each simulation",
            )
        settings = self._parameters.settings(names, values)
        written = self._own_fields = self._own_fields | set(settings.fields)
        for field in written:
            self._batch.expand(field)[...] = settings.fields.get(field, self._compiled(field))
        if any(field.startswith("opt.") or field in self.model._setconst_inputs for field in written):
            # Without this MuJoCo goes on with constants of the old mass and centre of mass.
            self._batch.set_const()
        held = self._drives.latest
        self._drives = Drives(settings.drives, self.timestep_s)
        self._drives.start(held)

    def reset(
        self,
        qpos: Float[np.ndarray, "_ nq"],
        qvel: Float[np.ndarray, "_ nv"] | None = None,
        *,
        commands: Float[np.ndarray, "_ nu"] | None = None,
    ) -> None:
        """Put the simulations at a state at time 0.

        One row stands for all. Drives have been holding `commands`; without them, position servos have been holding
        the joints where they are, and other controls have been zero.
        """
        self._check_state(qpos, qvel)
        self._batch.reset(stage=0)
        self._batch.bind("qpos")[...] = qpos
        self._batch.bind("qvel")[...] = 0.0 if qvel is None else qvel
        held = self._held() if commands is None else np.broadcast_to(commands, (self.count, self.model.nu))
        self._drives.start(np.array(held))
        self._batch.bind("ctrl")[...] = held
        self._is_diverged = ~np.isfinite(self._batch.bind("qpos")).all(axis=1)

    def rollout(self, controls: Float[np.ndarray, "_ t nu"], *, every: int, is_ramp: bool = False) -> Rollout:
        """Go on from the present state with commands that last `every` physics steps each.

        `controls` is (sim or 1, t, nu). With `is_ramp`, a command is reached in a straight line over its steps instead
        of being held from the first.
        """
        self._check_controls(controls, every)
        parts = list(self._chunks(controls, every, is_ramp))
        qpos, qvel, sensors = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        forces = {
            label: np.sum([sensors[:, :, start : start + 3] for start in starts], axis=0)
            for label, starts in self._sensors.items()
        }
        # MuJoCo stops a simulation at its first warning, so that any of them means that the rest is missing.
        warned = np.asarray(self._batch.warning)[:, :, 1].any(axis=1)
        self._is_diverged = self._is_diverged | warned | broke_down(self.model, qpos, qvel)
        return Rollout(qpos, qvel, self._is_diverged.copy(), forces)

    def body_poses(self, name: str, qpos: Float[np.ndarray, "*batch nq"]) -> SE3:
        """`T_world_body` of an object or a robot link in the given states."""
        return body_poses(self.model, name, qpos)

    def _chunks(
        self, controls: np.ndarray, every: int, is_ramp: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """State and sensors after each command, as many commands at once as the record may hold."""
        width = self.model.nq + self.model.nv + self.model.nsensordata
        at_once = max(1, int(_RECORD_BYTES / max(1, 8 * width * every * self.count)))
        record = ["qpos", "qvel", *(["sensordata"] if self._sensors else [])]
        for start in range(0, controls.shape[1], at_once):
            commands = self._drives.pass_on(controls[:, start : start + at_once], every=every, is_ramp=is_ramp)
            steps = commands.shape[1]
            out = {item: np.empty((self.count, steps, getattr(self.model, _SIZES[item]))) for item in record}
            try:
                with quiet_warnings():
                    self._batch.rollout(steps, commands, record=record, out=out)
            except self._simulation_error as error:
                broken = list(error.ids)  # type: ignore[attr-defined]
                self._is_diverged[broken] = True
                for item in record:
                    out[item][broken] = 0.0 if item == "sensordata" else self._batch.bind(item)[broken][:, None]
            kept = {item: rows[:, every - 1 :: every] for item, rows in out.items()}
            yield kept["qpos"], kept["qvel"], kept.get("sensordata", np.zeros((self.count, steps // every, 0)))

    def _held(self) -> Float[np.ndarray, "sim nu"]:
        """Commands under which position servos rest where they are."""
        held = np.zeros((self.count, self.model.nu))
        for control in model_controls(self.model):
            if control.joint is not None:
                gear = float(self.model.actuator_gear[control.actuator, 0])
                held[:, control.index] = gear * self._batch.bind("qpos")[:, self.model.jnt_qposadr[control.joint]]
        return held

    def _compiled(self, field: str) -> np.ndarray:
        """A field as the model was compiled."""
        owner, part = (self.model.opt, field[4:]) if field.startswith("opt.") else (self.model, field)
        return np.asarray(getattr(owner, part))

    def _check_state(self, qpos: np.ndarray, qvel: np.ndarray | None) -> None:
        for what, rows, width in (("positions", qpos, self.model.nq), ("velocities", qvel, self.model.nv)):
            if rows is not None and (rows.shape[1] != width or len(rows) not in (1, self.count)):
                raise ConfigError(
                    f"A reset was given {what} of shape {rows.shape}; ({self.count} or 1, {width}) was expected.",
                    remedy="give one row for each simulation or one for all",
                )

    def _check_controls(self, controls: np.ndarray, every: int) -> None:
        rows, columns = controls.shape[0], controls.shape[2]
        if every < 1 or columns != self.model.nu or rows not in (1, self.count) or controls.shape[1] < 1:
            raise ConfigError(
                f"Commands have shape {controls.shape} for {every} steps each; ({self.count} or 1, t, {self.model.nu}) "
                "and at least one step were expected.",
                remedy="give one row for each simulation or one for all, and one column for each actuator",
            )
