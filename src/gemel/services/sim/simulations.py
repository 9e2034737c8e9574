"""What many simulations of one compiled scene have in common, whatever steps them.

A back end adds three things: how model fields are written, how states are written, and how commands are carried out.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.services.sim.body_poses import body_poses
from gemel.services.sim.drives import Drives, DriveSettings, DriveState
from gemel.services.sim.parameters import ParameterMap
from gemel.services.sim.readout import broke_down, contact_sensors
from gemel.services.sim.simulator import Rollout
from gemel.services.sim.slots import resting_commands

Rows = Int[np.ndarray, " row"]
Stretch = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Positions, velocities and sensor values (sim, t, width) after each of t commands."""


class Simulations(ABC):
    """N simulations of a compiled `mujoco.MjModel`; see the `Simulator` protocol."""

    def __init__(self, model: Any, count: int) -> None:
        self.model: Any = model
        self.count = count
        self.parameters = ParameterMap(model)
        self._drives = Drives(DriveSettings.ideal(count, model.nu), self.timestep_s)
        self._is_diverged = np.zeros(count, dtype=bool)
        self._sensors = contact_sensors(model)

    @property
    def timestep_s(self) -> float:
        """Length of a physics step [s]."""
        return float(self.model.opt.timestep)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names that `set_parameters` takes."""
        return self.parameters.names

    def has_parameter(self, name: str) -> bool:
        """Whether `set_parameters` takes a name, contacts from either side and restitutions included."""
        return self.parameters.has(name)

    @property
    @abstractmethod
    def qpos(self) -> Float[np.ndarray, "sim nq"]:
        """Present positions."""

    @property
    @abstractmethod
    def qvel(self) -> Float[np.ndarray, "sim nv"]:
        """Present velocities."""

    def set_parameters(
        self, names: Sequence[str], values: Float[np.ndarray, "_ parameter"], *, rows: Rows | None = None
    ) -> None:
        """Give each simulation, or each of `rows`, its own values; what is not named is as compiled. State stays."""
        chosen = np.arange(self.count) if rows is None else rows
        if len(values) != len(chosen):
            raise ConfigError(
                f"{len(values)} rows of parameters were given for {len(chosen)} simulations.",
                remedy="give one row for each simulation",
            )
        if len(chosen):
            settings = self.parameters.settings(names, values)
            self._write_fields(settings.fields, chosen)
            self._drives.change(settings.drives, chosen)

    def reset(
        self,
        qpos: Float[np.ndarray, "_ nq"],
        qvel: Float[np.ndarray, "_ nv"] | None = None,
        *,
        commands: Float[np.ndarray, "_ nu"] | None = None,
        rows: Rows | None = None,
    ) -> None:
        """Put the simulations, or those of `rows`, at a state at time 0.

        One row stands for all. Drives have been holding `commands`; without them, position servos have been holding
        the joints where they are, and other controls have been zero.
        """
        chosen = np.arange(self.count) if rows is None else rows
        self._check_state(qpos, qvel, len(chosen))
        qpos = np.broadcast_to(qpos, (len(chosen), self.model.nq))
        still = np.zeros((1, self.model.nv)) if qvel is None else qvel
        given = resting_commands(self.model, qpos) if commands is None else commands
        held = np.broadcast_to(given, (len(chosen), self.model.nu))
        self._place(chosen, qpos, np.broadcast_to(still, (len(chosen), self.model.nv)), held)
        self._drives.start(np.array(held), chosen)
        self._is_diverged[chosen] = ~np.isfinite(qpos).all(axis=1)

    def drive_state(self) -> DriveState:
        """What drives hold of earlier commands, (sim, step, nu) and (sim, nu)."""
        return self._drives.state()

    def resume_drives(self, past: Float[np.ndarray, "_ step nu"], link: Float[np.ndarray, "_ nu"]) -> None:
        """Go on with what `drive_state` said of each simulation; after `set_parameters` and `reset`."""
        self._drives.resume(past, link, np.arange(self.count))

    def rollout(self, controls: Float[np.ndarray, "_ t nu"], *, every: int, is_ramp: bool = False) -> Rollout:
        """Go on from the present state with commands that last `every` physics steps each.

        `controls` is (sim or 1, t, nu). With `is_ramp`, a command is reached in a straight line over its steps instead
        of being held from the first.
        """
        self._check_controls(controls, every)
        parts = [self._advance(commands, every) for commands in self._commands(controls, every, is_ramp)]
        qpos, qvel, sensors = parts[0] if len(parts) == 1 else (
            np.concatenate(part, axis=1) for part in zip(*parts, strict=True)
        )  # fmt: skip
        forces = {
            label: np.sum([sensors[:, :, start : start + 3] for start in starts], axis=0)
            for label, starts in self._sensors.items()
        }
        self._is_diverged = self._is_diverged | broke_down(self.model, qpos, qvel)
        return Rollout(qpos, qvel, self._is_diverged.copy(), forces)

    def body_poses(self, name: str, qpos: Float[np.ndarray, "*batch nq"]) -> SE3:
        """`T_world_body` of an object or a robot link in the given states."""
        return body_poses(self.model, name, qpos)

    @abstractmethod
    def model_of(self, sim: int) -> Any:
        """A copy of the `mujoco.MjModel` with the values of one simulation."""

    @abstractmethod
    def _write_fields(self, fields: Mapping[str, np.ndarray], rows: Rows) -> None:
        """Put (row, *shape) values into model fields of some simulations; fields not named are as compiled."""

    @abstractmethod
    def _place(self, rows: Rows, qpos: np.ndarray, qvel: np.ndarray, held: np.ndarray) -> None:
        """Put some simulations at states at time 0, with the controls that are held."""

    @abstractmethod
    def _advance(self, commands: Float[np.ndarray, "_ step nu"], every: int) -> Stretch:
        """Carry out what reaches the servos at each physics step; states after each `every`-th of them."""

    def _commands_at_once(self, every: int) -> int:
        """How many commands one stretch may have."""
        return 1_000_000

    def _commands(self, controls: np.ndarray, every: int, is_ramp: bool) -> Iterator[np.ndarray]:
        """What reaches the servos, stretch by stretch."""
        at_once = self._commands_at_once(every)
        for start in range(0, controls.shape[1], at_once):
            yield self._drives.pass_on(controls[:, start : start + at_once], every=every, is_ramp=is_ramp)

    def _compiled(self, field: str) -> np.ndarray:
        """A field as the model was compiled."""
        owner, part = (self.model.opt, field[4:]) if field.startswith("opt.") else (self.model, field)
        return np.asarray(getattr(owner, part))

    def _check_state(self, qpos: np.ndarray, qvel: np.ndarray | None, count: int) -> None:
        for what, given, width in (("positions", qpos, self.model.nq), ("velocities", qvel, self.model.nv)):
            if given is not None and (given.shape[1] != width or len(given) not in (1, count)):
                raise ConfigError(
                    f"A reset was given {what} of shape {given.shape}; ({count} or 1, {width}) was expected.",
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
