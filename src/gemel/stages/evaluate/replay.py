"""One episode again in the twin, open loop: under the mean of its belief and under draws of it, all at once.

The robot is led in one of two ways. `actions`: its servos, with the delays and plays that the belief has, are given
what was commanded. `logged`: the servos are led along the joint positions that were logged, without lag, so that only
what happens to objects is the twin's own doing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.belief import Belief
from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin
from gemel.geometry import SE3
from gemel.services.sim.body_poses import body_poses
from gemel.services.sim.compile import CompileConfig, CompiledTwin, compile_twin
from gemel.services.sim.led_servos import servo_leads
from gemel.services.sim.native import SimulatorNative
from gemel.services.sim.slots import controls as model_controls

ACTIONS, LOGGED = "actions", "logged"
_TICK_S = 0.02
"""Commands are resampled to this period [s]."""


@dataclass(frozen=True, eq=False)
class JointPath:
    """Targets of the logged joints over time, on straight lines between the given ones."""

    times_s: Float[np.ndarray, " t"]
    targets: Float[np.ndarray, "t joint"]

    def at(self, times_s: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n joint"]:
        """Targets at any times; held before the first and after the last."""
        columns = [np.interp(times_s, self.times_s, column) for column in self.targets.T]
        return np.stack(columns, axis=-1) if columns else np.zeros((len(times_s), 0))


@dataclass(frozen=True, eq=False)
class Replay:
    """What came of it; simulation 0 has the belief's mean, the others are draws."""

    scene: CompiledTwin
    times_s: Float[np.ndarray, " tick"]
    qpos: Float[np.ndarray, "sim tick nq"]
    is_diverged: Bool[np.ndarray, " sim"]

    def qpos_at(self, times_s: Float[np.ndarray, " n"]) -> Float[np.ndarray, "sim n nq"]:
        """States at any times on straight lines between ticks; for robot joints, not for objects."""
        before, share = self._place(times_s)
        return np.asarray(
            (1.0 - share)[:, None] * self.qpos[:, before] + share[:, None] * self.qpos[:, before + 1], dtype=float
        )

    def joints_at(self, times_s: Float[np.ndarray, " n"]) -> Float[np.ndarray, "sim n joint"]:
        """Readings of the logged joints; zero for those that the model has not."""
        qpos = self.qpos_at(times_s)
        model, joints = self.scene.model, np.zeros((*qpos.shape[:2], len(self.scene.joints)))
        for column, name in enumerate(self.scene.joints):
            if name:
                joints[..., column] = qpos[..., model.joint(name).qposadr[0]]
        return joints

    def poses_at(self, name: str, times_s: Float[np.ndarray, " n"]) -> SE3:
        """`T_world_object`, batch (sim, n)."""
        before, share = self._place(times_s)
        first = body_poses(self.scene.model, name, self.qpos[:, before])
        second = body_poses(self.scene.model, name, self.qpos[:, before + 1])
        return first.interpolate(second, np.broadcast_to(share, first.batch_shape))

    def _place(self, times_s: Float[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
        place = (times_s - self.times_s[0]) / (self.times_s[1] - self.times_s[0])
        before = np.clip(np.floor(place + 1e-9).astype(int), 0, len(self.times_s) - 2)
        return before, np.clip(place - before, 0.0, 1.0)


class TwinReplay:
    """Simulations of a twin with one belief, ready for any episode."""

    def __init__(self, twin: Twin, belief: Belief, blobs: Blobs, *, draws: int, rng: np.random.Generator) -> None:
        mean = belief.weights @ belief.samples
        rows = rng.choice(len(belief.samples), size=draws, p=belief.weights)
        values = np.concatenate([mean[None], belief.samples[rows]])
        self.scene = compile_twin(twin, blobs, {}, CompileConfig(has_force_sensors=False))
        self._simulator = SimulatorNative(self.scene.model, 1 + draws)
        known = [i for i, name in enumerate(belief.names) if self._simulator.has_parameter(name)]
        self._values = {belief.names[i]: values[:, i] for i in known}

    def run(self, path: JointPath, drive: str, *, start_s: float, end_s: float, poses: Mapping[str, SE3]) -> Replay:
        """From rest at `start_s`, with objects at `poses` (`T_world_object`), to `end_s`."""
        simulator, model = self._simulator, self.scene.model
        values = self._values if drive == ACTIONS else self._values | _led(model, simulator.count, self._values)
        simulator.set_parameters(list(values), np.stack(list(values.values()), axis=1) if values else _none(simulator))
        every = max(1, round(_TICK_S / simulator.timestep_s))
        tick_s = every * simulator.timestep_s
        times_s = start_s + tick_s * np.arange(int(np.ceil((end_s - start_s) / tick_s)) + 2)
        targets = path.at(times_s)
        commands = self._commands(targets)
        first = self.scene.qpos(targets[:1] if self.scene.joints else None, poses)
        simulator.reset(first, commands=commands[:1])
        rollout = simulator.rollout(commands[None, 1:], every=every, is_ramp=True)
        start = np.broadcast_to(first[:, None], (simulator.count, 1, model.nq))
        return Replay(self.scene, times_s, np.concatenate([start, rollout.qpos], axis=1), rollout.is_diverged)

    def _commands(self, targets: Float[np.ndarray, "t joint"]) -> Float[np.ndarray, "t control"]:
        """What position servos are told; joints that are not logged stay where the model has them."""
        model = self.scene.model
        qpos = self.scene.qpos(targets if self.scene.joints else None)
        commands = np.zeros((len(targets), model.nu))
        for control in model_controls(model):
            if control.joint is not None:
                gear = float(model.actuator_gear[control.actuator, 0])
                commands[:, control.index] = gear * qpos[:, model.jnt_qposadr[control.joint]]
        return commands


def _led(model: Any, count: int, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Servos that follow a path without lag, and nothing is delayed."""
    undelayed = {name: np.zeros(count) for name in values if name.startswith("robot/") and name.endswith("/delay")}
    return undelayed | servo_leads(model, count, values)


def _none(simulator: SimulatorNative) -> Float[np.ndarray, "sim 0"]:
    return np.zeros((simulator.count, 0))
