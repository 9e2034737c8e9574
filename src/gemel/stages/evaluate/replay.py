"""One episode again in the twin, open loop: under the mean of its belief and under draws of it, all at once.

The robot is led in one of two ways. `actions`: its servos are given what was commanded, with the delays, plays and
leads that the twin's belief has, whatever is believed of objects. `logged`: the servos are led along the joint
positions that were logged, without lag or giving way (`services/sim/led_servos.py`), so that only what happens to
objects is the twin's own doing. Either way joints start where the log has them, as fast as it says.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.belief import Belief
from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin
from gemel.geometry import SE3
from gemel.services.sim.body_poses import body_poses
from gemel.services.sim.compile import CompileConfig, CompiledTwin, compile_twin
from gemel.services.sim.joint_path import TICK_S, JointPath, steps_of_tick
from gemel.services.sim.led_servos import led_model, servo_leads
from gemel.services.sim.native import SimulatorNative

ACTIONS, LOGGED = "actions", "logged"


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
        robot = [name for name in twin.belief.names if name.startswith("robot/") and name not in belief.names]
        values = _mean_and_draws(belief, draws, rng) | _mean_and_draws(twin.belief.only(robot), draws, rng)
        self.scene = compile_twin(twin, blobs, {}, CompileConfig(has_force_sensors=False))
        self._simulators = {
            ACTIONS: SimulatorNative(self.scene.model, 1 + draws),
            LOGGED: SimulatorNative(led_model(self.scene.model), 1 + draws),
        }
        self._values = {n: column for n, column in values.items() if self._simulators[ACTIONS].has_parameter(n)}

    def run(
        self, path: JointPath, drive: str, *, logged: JointPath, start_s: float, end_s: float, poses: Mapping[str, SE3]
    ) -> Replay:
        """From `start_s` to `end_s` along `path`, the robot moving as `logged` to begin with.

        Objects start from rest at `poses` (`T_world_object`).
        """
        simulator = self._simulators[drive]
        values = self._values if drive == ACTIONS else _led(simulator, self._values)
        simulator.set_parameters(list(values), np.stack(list(values.values()), axis=1) if values else _none(simulator))
        every = steps_of_tick(simulator.timestep_s)
        tick_s = every * simulator.timestep_s
        times_s = start_s + tick_s * np.arange(int(np.ceil((end_s - start_s) / tick_s)) + 2)
        commands = self.scene.commands(path.at(times_s))
        first, at_rest = self.scene.state(logged.at(times_s[:1]), poses)
        simulator.reset(first, at_rest + _robot_speed(self.scene, logged, start_s), commands=commands[:1])
        rollout = simulator.rollout(commands[None, 1:], every=every, is_ramp=True)
        start = np.broadcast_to(first[:, None], (simulator.count, 1, first.shape[1]))
        return Replay(self.scene, times_s, np.concatenate([start, rollout.qpos], axis=1), rollout.is_diverged)


def _mean_and_draws(belief: Belief, draws: int, rng: np.random.Generator) -> dict[str, Float[np.ndarray, " sim"]]:
    """Values of each parameter: the mean, then draws."""
    rows = rng.choice(len(belief.samples), size=draws, p=belief.weights)
    return dict(zip(belief.names, np.concatenate([belief.mean[None], belief.samples[rows]]).T, strict=True))


def _robot_speed(scene: CompiledTwin, logged: JointPath, start_s: float) -> Float[np.ndarray, "1 nv"]:
    """Velocities of the robot's joints, followers of others included, from the log around `start_s`."""
    import mujoco

    speed = np.zeros(scene.model.nv)
    before_s, after_s = np.clip([start_s - TICK_S, start_s + TICK_S], logged.times_s[0], logged.times_s[-1])
    if scene.joints and after_s > before_s:
        before, after = scene.qpos(logged.at(np.array([before_s, after_s])))
        mujoco.mj_differentiatePos(scene.model, speed, after_s - before_s, before, after)
    return speed[None]


def _led(simulator: SimulatorNative, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Servos follow a path without lag; what is believed of the robot itself has no say."""
    of_objects = {name: value for name, value in values.items() if not name.startswith("robot/")}
    return of_objects | servo_leads(simulator.model, simulator.count, {})


def _none(simulator: SimulatorNative) -> Float[np.ndarray, "sim 0"]:
    return np.zeros((simulator.count, 0))
