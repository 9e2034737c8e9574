"""Draws of a belief, each simulated along with what the robot does: they predict where an object goes, and learn.

All draws start from the object's tracked pose and follow the robot's logged joints. After a while (`window`) their
predictions have spread; the tracked pose then moves the draws by one ensemble Kalman step (services/inference), counted
only as far as half of the ensemble survives it, and all start again from where the object is. Without contact all
draws predict the same and nothing is learnt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief, ValueSource
from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin
from gemel.geometry import SE3
from gemel.services.inference import PriorMap
from gemel.services.inference.kalman import kalman_step, tempering_step
from gemel.services.sim.compile import CompileConfig, compile_twin, mean_draw
from gemel.services.sim.joint_path import JointPath
from gemel.services.sim.led_servos import led_model, servo_leads
from gemel.services.sim.native import SimulatorNative

_TICK_S = 0.02
"""Commands are passed on at this period [s]."""
_EXPECTED_MISFIT = 3.0
"""Half the squared error, in units of the noise, of six components that a draw explains."""


@dataclass(frozen=True)
class RehearsalConfig:
    """How draws go along."""

    draws: int = 32
    """Simulations."""
    window_s: float = 0.8
    """After so long predictions are compared with the tracked pose [s]."""
    model_error: float = 0.15
    """Part of the way gone that any model may miss: friction is not the same everywhere."""


class Rehearsal:
    """Simulations of a twin, one for each draw of its belief."""

    def __init__(
        self, twin: Twin, blobs: Blobs, config: RehearsalConfig, rng: np.random.Generator, *, threads: int = 0
    ) -> None:
        """`threads` 0 means all cores."""
        scene = compile_twin(twin, blobs, _simulable(twin), CompileConfig(has_force_sensors=False))
        self._scene, self._config, self._rng = scene, config, rng
        self._simulator = SimulatorNative(led_model(scene.model), config.draws, threads=threads)
        believed = [name for name in twin.belief.names if self._simulator.has_parameter(name)]
        self._map = PriorMap.of(twin.belief.only(believed))
        self._z = self._map.draw(config.draws, rng)
        self._starts: dict[str, SE3] = {}
        self._start_s = self._now_s = -np.inf
        self._pass_on()

    @property
    def belief(self) -> Belief:
        """What is believed now."""
        parameters = tuple(replace(p, source=ValueSource.INFERRED) for p in self._map.parameters)
        count = len(self._z)
        return Belief(parameters, self._map.to_parameters(self._z), np.full(count, 1.0 / count))

    @property
    def is_laid(self) -> bool:
        """Whether it knows where things are."""
        return bool(self._starts)

    def lay(
        self, poses: Mapping[str, SE3], velocities: Mapping[str, Float[np.ndarray, "6"]], path: JointPath, time_s: float
    ) -> None:
        """Start all draws from these poses and velocities (of origins and about them, along the world's axes)."""
        joints = path.at(np.array([time_s]))
        own = {
            name: (velocities[name].reshape(2, 3) @ pose.rotation.as_matrix()).reshape(1, 6)
            for name, pose in poses.items()
        }
        qpos, qvel = self._scene.state(joints, poses, own)
        self._simulator.reset(qpos, qvel, commands=self._scene.commands(joints))
        self._starts, self._start_s, self._now_s = dict(poses), time_s, time_s

    def advance(self, path: JointPath, time_s: float) -> dict[str, SE3]:
        """Simulate up to a time; `Ts_world_object` of all draws, batch (draw,), by object."""
        every = max(1, round(_TICK_S / self._simulator.timestep_s))
        tick_s = every * self._simulator.timestep_s
        ticks = round((time_s - self._now_s) / tick_s)
        if ticks > 0:
            times_s = self._now_s + tick_s * np.arange(1, ticks + 1)
            self._simulator.rollout(self._scene.commands(path.at(times_s))[None], every=every, is_ramp=True)
            self._now_s = float(times_s[-1])
        qpos = self._simulator.qpos
        return {name: self._simulator.body_poses(name, qpos) for name in self._starts}

    def is_due(self, time_s: float) -> bool:
        """Whether the present window is over."""
        return time_s - self._start_s >= self._config.window_s

    def learn(self, predicted: SE3, tracked: SE3, sd: Float[np.ndarray, "6"], name: str) -> None:
        """Move the draws to where they predict what was tracked; `sd` is the track's, along the object's axes."""
        errors = (tracked.inverse() @ predicted).log()  # (draw, 6)
        if not np.isfinite(errors).all():
            return
        way = (self._starts[name].inverse() @ tracked).log()
        gone = np.repeat([np.linalg.norm(way[:3]), np.linalg.norm(way[3:])], 3)
        noise = np.sqrt(2.0 * sd**2 + (self._config.model_error * gone) ** 2)
        misfits = 0.5 * np.sum((errors / noise) ** 2, axis=1)
        # What not even the best draw explains is an error of the model, not news about its parameters.
        excess = max(float(misfits.min()) / _EXPECTED_MISFIT, 1.0)
        noise, misfits = noise * np.sqrt(excess), misfits / excess
        step = tempering_step(misfits, 1.0)
        self._z = kalman_step(self._z, errors, np.zeros(6), noise, self._rng, step=step)
        self._pass_on()

    def _pass_on(self) -> None:
        """Give each simulation its draw; servos follow the log without trailing it."""
        names = [parameter.name for parameter in self._map.parameters]
        draws = self._map.to_parameters(self._z)
        of_objects = [i for i, name in enumerate(names) if not name.startswith("robot/")]
        leads = servo_leads(self._simulator.model, len(draws), {})
        values = np.column_stack([draws[:, of_objects], *leads.values()])
        self._simulator.set_parameters([*(names[i] for i in of_objects), *leads], values)


def middle(poses: SE3) -> SE3:
    """The pose in the middle of a batch of poses that are near each other: the mean in the first one's tangent."""
    return poses[0] @ SE3.exp((poses[0].inverse() @ poses).log().mean(axis=0))


def _simulable(twin: Twin) -> dict[str, float]:
    """The belief's mean without the parameters of the track, which no simulator has."""
    return {name: value for name, value in mean_draw(twin).items() if not name.startswith("track/")}
