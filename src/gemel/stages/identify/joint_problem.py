"""A robot's own motion as a `Problem`: commands in, joint positions out, no object touched.

Parameters are those of the robot's joints and servos (`services/sim/parameters.py`). The problem also offers slopes by
MuJoCo's own derivatives (`derivatives = "mjx"` of `IdentifyConfig`), for which the scene must be without contact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Parameter
from gemel.services.inference import NoiseLayout
from gemel.services.sim.native import SimulatorNative

if TYPE_CHECKING:
    from gemel.services.sim.mjx_rollout import RolloutMjx


@dataclass(frozen=True, eq=False)
class JointRun:
    """One recorded motion at an even step, from rest."""

    commands: Float[np.ndarray, "t nu"]
    """Entry t is held on the way from position t to position t + 1."""
    positions: Float[np.ndarray, "_ nq"]
    """Measured, one more than commands; the first is the start."""


class JointProblem:
    """All runs of one robot; they have the same length. See `gemel.stages.identify.problem.Problem`."""

    def __init__(
        self,
        model: Any,
        parameters: tuple[Parameter, ...],
        runs: Sequence[JointRun],
        *,
        every: int,
        noise_sd: Float[np.ndarray, " nq"],
        threads: int = 0,
    ) -> None:
        """`model` is the compiled `mujoco.MjModel`, `every` the physics steps of one command."""
        self.model, self.parameters, self.runs = model, parameters, tuple(runs)
        self._every, self._noise_sd, self._threads = every, noise_sd, threads
        self._names = [parameter.name for parameter in parameters]
        self._simulator: SimulatorNative | None = None

    @cached_property
    def observed(self) -> Float[np.ndarray, " m"]:
        """Joint positions after each command, of all runs."""
        return np.stack([run.positions[1:] for run in self.runs]).ravel()

    @cached_property
    def noise(self) -> NoiseLayout:
        """One level for each joint; a run's residuals hang together in time."""
        count, length, joints = len(self.runs), len(self.runs[0].commands), self.model.nq
        joint = np.tile(np.arange(joints), count * length)
        run = np.repeat(np.arange(count), length * joints)
        time_s = self._every * float(self.model.opt.timestep) * np.repeat(np.arange(length), joints)
        names = tuple(f"joint {k}" for k in range(joints))
        return NoiseLayout(joint, self._noise_sd[joint], run * joints + joint, np.tile(time_s, count), names)

    def predict(self, draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
        """Joint positions under each draw; NaN where a simulation diverged."""
        count = len(draws) * len(self.runs)
        if self._simulator is None or self._simulator.count != count:
            self._simulator = SimulatorNative(self.model, count, threads=self._threads)
        simulator = self._simulator
        simulator.set_parameters(self._names, np.repeat(draws, len(self.runs), axis=0))
        simulator.reset(np.tile(self._starts, (len(draws), 1)), commands=np.tile(self._commands[:, 0], (len(draws), 1)))
        rollout = simulator.rollout(np.tile(self._commands, (len(draws), 1, 1)), every=self._every)
        found = rollout.qpos.reshape(len(draws), -1)
        found[rollout.is_diverged.reshape(len(draws), -1).any(axis=1)] = np.nan
        return np.asarray(found)

    def slopes(self, draw: Float[np.ndarray, " p"]) -> Float[np.ndarray, "m p"]:
        """Derivatives of the predictions by MJX."""
        steps = np.repeat(self._commands, self._every, axis=1)
        _, slopes = self._mjx.slopes(draw, self._starts, steps, every=self._every)
        return np.asarray(slopes.reshape(-1, len(draw)))

    @cached_property
    def _mjx(self) -> "RolloutMjx":
        from gemel.services.sim.mjx_rollout import RolloutMjx

        return RolloutMjx(self.model, self._names)

    @cached_property
    def _starts(self) -> Float[np.ndarray, "run nq"]:
        return np.stack([run.positions[0] for run in self.runs])

    @cached_property
    def _commands(self) -> Float[np.ndarray, "run t nu"]:
        return np.stack([run.commands for run in self.runs])
