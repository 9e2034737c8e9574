"""Draws of a belief simulated side by side along the robot's joint log, from where things were seen."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3
from gemel.services.sim.joint_path import JointPath, steps_of_tick
from gemel.services.sim.led_servos import led_model, servo_leads
from gemel.services.sim.native import SimulatorNative

Velocities = Mapping[str, Float[np.ndarray, "6"]]
"""Of origins and about them, along the world's axes, by object [m/s, rad/s]."""


class Strand:
    """One simulation for each draw; all start from the same state and follow the same joints."""

    def __init__(self, scene: Any, draws: int, *, threads: int) -> None:
        """`scene` is what `compile_twin` made; `threads` 0 means all cores."""
        self._scene = scene
        self._simulator = SimulatorNative(led_model(scene.model), draws, threads=threads)
        self._names: tuple[str, ...] = ()
        self.start_s = self.now_s = -np.inf

    def has_parameter(self, name: str) -> bool:
        """Whether simulations can differ in it."""
        return self._simulator.has_parameter(name)

    def set_draws(self, names: list[str], values: Float[np.ndarray, "draw parameter"]) -> None:
        """Give each simulation its draw; servos follow the log without trailing it."""
        leads = servo_leads(self._simulator.model, len(values), {})
        self._simulator.set_parameters([*names, *leads], np.column_stack([values, *leads.values()]))

    def lay(self, poses: Mapping[str, SE3], velocities: Velocities, path: JointPath, time_s: float) -> None:
        """Start all simulations anew."""
        joints = path.at(np.array([time_s]))
        own = {
            name: (velocities[name].reshape(2, 3) @ pose.rotation.as_matrix()).reshape(1, 6)
            for name, pose in poses.items()
        }
        qpos, qvel = self._scene.state(joints, poses, own)
        self._simulator.reset(qpos, qvel, commands=self._scene.commands(joints))
        self._names, self.start_s, self.now_s = tuple(poses), time_s, time_s

    def advance(self, path: JointPath, time_s: float) -> dict[str, SE3]:
        """Simulate up to a time; `Ts_world_object` of all draws, batch (draw,), by object."""
        every = steps_of_tick(self._simulator.timestep_s)
        tick_s = every * self._simulator.timestep_s
        ticks = round((time_s - self.now_s) / tick_s)
        if ticks > 0:
            times_s = self.now_s + tick_s * np.arange(1, ticks + 1)
            self._simulator.rollout(self._scene.commands(path.at(times_s))[None], every=every, is_ramp=True)
            self.now_s = float(times_s[-1])
        qpos = self._simulator.qpos
        return {name: self._simulator.body_poses(name, qpos) for name in self._names}
