"""Trials of a task in many simulations at once: resets, control periods, randomisation, and what went wrong."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.artifacts.belief import Belief
from gemel.errors import ConfigError
from gemel.geometry import SE3
from gemel.services.policy.arena import Arena, Values
from gemel.services.policy.randomisation import Randomisation, checked_randomisation, draw_physics, mean_physics
from gemel.services.policy.sensors import Sensors
from gemel.services.policy.twin_cameras import TwinCameras
from gemel.services.sim.drives import is_drive_parameter
from gemel.services.sim.flight_recorder import FlightRecorder
from gemel.services.sim.simulations import Simulations
from gemel.services.sim.slots import gears, resting_commands

Rows = Int[np.ndarray, " row"]


class Playground:
    """N simulations of an arena. Each simulation's episode starts with `reset` and goes on with `step`."""

    def __init__(
        self,
        arena: Arena,
        simulator: Simulations,
        *,
        randomisation: Randomisation | None = None,
        cameras: TwinCameras | None = None,
        recorder: FlightRecorder | None = None,
        seed: int | None = 0,
    ) -> None:
        """`seed` is that of all draws; None means another one every time."""
        self.arena, self.simulator, self.cameras = arena, simulator, cameras
        self.randomisation = checked_randomisation(randomisation)
        self.rng = np.random.default_rng(seed)
        self.steps = np.zeros(simulator.count, dtype=np.int64)
        """Control periods since each simulation's reset."""
        self.is_diverged = np.zeros(simulator.count, dtype=bool)
        self._is_begun = np.zeros(simulator.count, dtype=bool)
        self.contact_forces: Mapping[str, Float[np.ndarray, "sim 3"]] = {}
        """Force of A on B by contact `A-B` [N], in scenes with force sensors."""
        self._recorder = recorder
        self._sensors = Sensors(arena, self.randomisation)
        self._control = arena.control(simulator.count)
        model = simulator.model
        self._resting = resting_commands(model, np.array(model.qpos0)[None])
        self._gears = gears(model)[arena.commands_at]
        self._belief = _set_belief(arena, self.randomisation)
        self._names = _parameter_names(arena, simulator, self.randomisation, self._belief)
        self._parameters = np.zeros((simulator.count, len(self._names)))
        self._held = {c: np.zeros(simulator.count, dtype=np.int64) for c in arena.task.success}
        self.qpos = simulator.qpos
        self.qvel = simulator.qvel

    @property
    def count(self) -> int:
        """How many simulations there are."""
        return self.simulator.count

    def reset(self, rows: Rows, given: Mapping[str, Values] | None = None) -> None:
        """Begin episodes: at the given values of the task's initial conditions, the rest drawn from their ranges."""
        if not len(rows):
            return
        drawn = {
            name: self.rng.uniform(low, high, len(rows))
            for name, (low, high) in self.arena.task.initial_conditions.items()
        }
        qpos, readings = self.arena.start(drawn | dict(given or {}), len(rows))
        self._draw_parameters(rows)
        self.simulator.reset(qpos, rows=rows)
        self._control.start(readings, rows)
        self.steps[rows], self.is_diverged[rows] = 0, False
        for held in self._held.values():
            held[rows] = 0
        self.qpos[rows], self.qvel[rows] = qpos, 0.0
        self._is_begun[rows] = True
        self._sensors.begin(rows, self.qpos, self.rng)
        if self.cameras is not None:
            self.cameras.start(rows, self.qpos, self.randomisation, self.rng)

    def step(self, actions: Float[np.ndarray, "sim action"]) -> None:
        """One control period of all simulations; those that break down are flagged and recorded."""
        self.check_begun()
        commands = np.repeat(self._resting, self.count, axis=0)  # what no action moves stays where it is
        commands[:, self.arena.commands_at] = self._gears * self._control.targets(actions, self.readings())
        if self._recorder is not None:
            self._recorder.note(self.qpos, self.qvel, commands, self.simulator.drive_state)
        rollout = self.simulator.rollout(commands[:, None], every=self.arena.every, is_ramp=True)
        self.qpos, self.qvel = rollout.qpos[:, -1], rollout.qvel[:, -1]
        self._sensors.forget()
        self.contact_forces = {name: force[:, -1] for name, force in rollout.contact_forces.items()}
        self.steps += 1
        broken = np.flatnonzero(rollout.is_diverged & ~self.is_diverged)
        self.is_diverged = rollout.is_diverged
        if self.cameras is not None:
            self.cameras.note(self.qpos)
        if self._recorder is not None and len(broken):
            self._record(self._recorder, broken)

    def check_begun(self) -> None:
        """Refuse to go on with episodes that have not begun."""
        if not self._is_begun.all():
            waiting = np.flatnonzero(~self._is_begun)
            raise ConfigError(
                f"{len(waiting)} of {self.count} simulations have no episode yet, the first is {waiting[0]}.",
                remedy="call `reset` before anything else",
            )

    def readings(self) -> Float[np.ndarray, "sim joint"]:
        """What the encoders say in this period, noise included."""
        return self._sensors.readings(self.qpos, self.rng)

    def seen_poses(self) -> SE3:
        """`Ts_world_object` in the task's frame of the object, as a tracker sees it in this period."""
        return self._sensors.object_poses(self.qpos, self.rng)

    def drawn(self, names: Sequence[str]) -> Float[np.ndarray, "sim parameter"]:
        """Values of parameters in each simulation's episode; as compiled where they are not drawn."""
        columns = {name: column for column, name in enumerate(self._names)}
        out = np.empty((self.count, len(names)))
        for i, name in enumerate(names):
            is_drawn = name in columns
            out[:, i] = self._parameters[:, columns[name]] if is_drawn else self.simulator.parameters.nominal([name])
        return out

    def values(self) -> dict[str, Values]:
        """Quantities that rewards and criteria speak of, as they are."""
        return self.arena.values(self.qpos)

    def seen_values(self) -> dict[str, Values]:
        """The same as sensors see them in this period, noise included."""
        return self._sensors.values(self.qpos, self.rng)

    def is_success(self, values: Mapping[str, Values]) -> Bool[np.ndarray, " sim"]:
        """Where all criteria of success hold and have held as long as they must; to be asked once a step."""
        done = np.full(self.count, bool(self._held))
        for criterion, held in self._held.items():
            held[:] = np.where(self.arena.holds(criterion, values), held + 1, 0)
            done &= held > criterion.hold_s / self.arena.task.control_period_s
        return done

    def is_failure(self, values: Mapping[str, Values]) -> Bool[np.ndarray, " sim"]:
        """Where any criterion of failure is broken, or the simulation is."""
        failed = self.is_diverged.copy()
        for criterion in self.arena.task.failure:
            failed |= ~self.arena.holds(criterion, values)
        return failed

    def _draw_parameters(self, rows: Rows) -> None:
        if not self._names:
            return
        values = []
        if self._belief is not None:
            draw = draw_physics if self.randomisation.is_physics else mean_physics
            values.append(draw(self._belief, len(rows), self.rng))
        values.append(np.tile([*self.arena.fixed.values()], (len(rows), 1)))
        late = len(self._names) - sum(part.shape[1] for part in values)
        delay_s = self.arena.delay_s + self.rng.uniform(0.0, self.randomisation.delay_s, (len(rows), 1))
        values.append(np.repeat(delay_s, late, axis=1))
        self._parameters[rows] = np.concatenate(values, axis=1)
        self.simulator.set_parameters(self._names, self._parameters[rows], rows=rows)

    def _record(self, recorder: FlightRecorder, broken: Rows) -> None:
        """Dumps of as many broken simulations as the recorder takes, each since its own reset."""
        written = broken[: recorder.room].tolist()
        recorder.left_out += len(broken) - len(written)
        for sim in written:
            parameters = dict(zip(self._names, self._parameters[sim].tolist(), strict=True))
            recorder.dump(
                sim, self.simulator.model_of(sim), every=self.arena.every, parameters=parameters,
                periods=int(self.steps[sim]), is_ramp=True,
            )  # fmt: skip


def _set_belief(arena: Arena, randomisation: Randomisation) -> Belief | None:
    """What of the belief is set in each simulation: all where it is drawn, else what no compiled model has."""
    if arena.belief is None or randomisation.is_physics:
        return arena.belief
    return arena.belief.only([name for name in arena.belief.names if is_drive_parameter(name)])


def _parameter_names(
    arena: Arena, simulator: Simulations, randomisation: Randomisation, belief: Belief | None
) -> Sequence[str]:
    """What is set in each simulation: the belief's parameters, fixed ones, then delays that nothing says."""
    named = [*(belief.names if belief is not None else ()), *arena.fixed]
    is_late = randomisation.delay_s > 0.0 or arena.delay_s > 0.0
    late = [f"robot/{name}/delay" for name in arena.joint_names] if is_late else []
    return [*named, *(name for name in late if name not in named and simulator.has_parameter(name))]
