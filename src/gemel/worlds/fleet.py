"""Many pushing worlds in one batch: the physics of `WorldRobot`, stepped together and on all cores, without cameras.

Each world keeps its own truth, offsets, friction map and noise. What runs in Python runs for all worlds at once: the
drives, the controller's inverse kinematics, the look at the table's friction every tick. `tests/worlds/test_fleet.py`
holds it against `WorldRobot`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError
from gemel.services.kinematics.chain import Chain
from gemel.services.policy import InitialCondition
from gemel.worlds.control import DOWN, LARGEST_STEP_M, LEASH_M, TIP_HEIGHT_M, WORKSPACE
from gemel.worlds.drive import Drive
from gemel.worlds.hidden import Stream, stream_rng
from gemel.worlds.machine import machine_mjcf
from gemel.worlds.physics import TICK_S
from gemel.worlds.scenario import World
from gemel.worlds.scene import cells
from gemel.worlds.world_robot import SETTLE_PERIODS, WorldRobot

Joints = Float[np.ndarray, "world joint"]
Planar = Float[np.ndarray, "world 3"]
_REACH_STEPS = 8
"""Steps of inverse kinematics for one control period: the rest is below a hundredth of a millimetre."""


class WorldFleet:
    """Worlds of one scenario with one arm each; `robots` are the same worlds one by one."""

    def __init__(self, worlds: Sequence[World], *, threads: int = 0) -> None:
        import mujoco
        from mujoco import batch

        scenario = worlds[0].scenario
        if any(world.scenario.task.name != scenario.task.name for world in worlds) or len(scenario.machine.arms) != 1:
            raise ConfigError("A fleet needs worlds of one scenario with one arm.", remedy="use push-t or push-hammer")
        self.worlds = tuple(worlds)
        self.robots = tuple(WorldRobot(world, is_rendering=False, has_tracker=True) for world in worlds)
        models = [robot.physics.model for robot in self.robots]
        self._model: Any = models[0]
        self._batch: Any = batch.Batch(models[0], len(worlds), threads)
        _give_each_its_own(self._batch, models)
        self._qpos, self._qvel = self._batch.bind("qpos"), self._batch.bind("qvel")
        self._body = int(self._model.body(scenario.model.name).id)
        self._xpos, self._xquat = self._batch.bind("xpos"), self._batch.bind("xquat")
        self._friction = self._batch.expand("pair_friction")
        self._chain = Chain.to_tip(mujoco.MjModel.from_xml_string(machine_mjcf(scenario.machine)))
        self._imperfections = worlds[0].config.imperfections
        self._joint_offsets = np.stack([world.hidden.joint_offsets for world in worlds])
        physics = self.robots[0].physics
        self._joints = np.array([self._model.joint(n).qposadr[0] for n in scenario.machine.joint_names])
        self._object = int(self._model.joint(scenario.model.name).qposadr[0])
        self._pairs = [self._model.pair(f"table-cell{i}").id for i in range(len(cells(scenario.model)))]
        self._cells = np.array([box.centre for box, _ in cells(scenario.model)])[:, :2]
        self._lead_s = self._model.actuator_biasprm[:, 2] / self._model.actuator_biasprm[:, 1]
        self._drive = physics.drive
        self._time_s = 0.0
        self._rngs: list[np.random.Generator] = []
        self._xy, self._q = np.zeros((len(worlds), 2)), np.tile(scenario.machine.home, (len(worlds), 1))

    @property
    def count(self) -> int:
        """How many worlds there are."""
        return len(self.worlds)

    def reset(self, conditions: Sequence[InitialCondition], episode: int | Sequence[int]) -> None:
        """Begin this episode in every world, or each world's own one, each at its own initial condition."""
        self._time_s = 0.0
        each = np.broadcast_to(episode, self.count).tolist()
        self._rngs = [stream_rng(w.config.seed, Stream.SENSORS, n) for w, n in zip(self.worlds, each, strict=True)]
        self._batch.reset(stage=0)
        starts = []
        for row, (robot, given) in enumerate(zip(self.robots, conditions, strict=True)):
            start, T_world_object = robot.start_of(given, self._rngs[row])
            starts.append(start)
            pose = np.concatenate([T_world_object.translation, T_world_object.rotation.wxyz])
            self._qpos[row, self._object : self._object + 7] = pose
        readings = np.stack(starts)
        q_true = readings - self._joint_offsets
        self._qpos[:, self._joints], self._qvel[:] = q_true, 0.0
        self._batch.forward()
        self._drive = Drive.at_rest(self._imperfections, self.worlds[0].machine.is_gripper, q_true)
        for _ in range(SETTLE_PERIODS):
            self._advance()
        self._time_s, self._qvel[:] = 0.0, 0.0
        self._xy, self._q = self.tips(readings), readings.copy()

    def act(self, actions: Float[np.ndarray, "world 2"]) -> None:
        """Carry out displacements of the tips and let one control period pass."""
        wanted = self._xy + np.clip(actions, -LARGEST_STEP_M, LARGEST_STEP_M)
        measured = self.tips(self.readings(is_quiet=True))
        ahead = wanted - measured
        length = np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-12)
        wanted = np.where(length > LEASH_M, measured + ahead * (LEASH_M / length), wanted)
        low, high = np.array(WORKSPACE).T
        self._xy = np.clip(wanted, low, high)
        goals = np.tile(np.eye(4), (self.count, 1, 1))
        goals[:, :3, :3], goals[:, :2, 3], goals[:, 2, 3] = DOWN.as_matrix(), self._xy, TIP_HEIGHT_M
        self._q = self._chain.solve(goals, self._q, iterations=_REACH_STEPS)
        period_s = self.worlds[0].task.control_period_s
        self._drive.command(self._q - self._joint_offsets, self._time_s, self._time_s + period_s)
        self._advance()

    def tips(self, readings: Joints) -> Float[np.ndarray, "world 2"]:
        """Where the robots believe their tips are [m]."""
        return np.asarray(self._chain.tip_poses(readings)[:, :2, 3])

    def readings(self, *, is_quiet: bool = False) -> Joints:
        """What the encoders say: motor side, with zero-point errors and noise (none for the controller)."""
        plain = self._qpos[:, self._joints] + self._drive.play + self._joint_offsets
        if is_quiet:
            return plain
        sigma = self._imperfections.encoder_noise_rad
        return plain + sigma * np.stack([rng.standard_normal(plain.shape[1]) for rng in self._rngs])

    def object_poses(self) -> Planar:
        """True place [m] and heading [rad] of the objects, one physics step old as in `Physics`."""
        w, x, y, z = self._xquat[:, self._body].T
        yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        return np.column_stack([self._xpos[:, self._body, :2], yaw])

    def _advance(self) -> None:
        """One control period: the drives do not feel the load, so a whole tick of theirs can go ahead of physics."""
        step_s = float(self._model.opt.timestep)
        steps = round(self.worlds[0].task.control_period_s / step_s)
        per_tick = max(1, round(TICK_S / step_s))
        for first in range(0, steps, per_tick):
            count = min(per_tick, steps - first)
            controls = np.empty((self.count, count, self._model.nu))
            for k in range(count):
                position, velocity = self._drive.advance(self._time_s, step_s)
                controls[:, k] = position + self._lead_s * velocity
                self._time_s += step_s
            self._feel_table()
            self._batch.rollout(count, controls, record=[], out={})

    def _feel_table(self) -> None:
        """Give every cell of every object the friction of the place that it lies on."""
        x, y, yaw = self.object_poses().T
        c, s = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
        along, across = self._cells.T
        places = np.stack([x[:, None] + c * along - s * across, y[:, None] + s * along + c * across], axis=-1)
        for row, world in enumerate(self.worlds):
            self._friction[row, self._pairs, :2] = world.hidden.friction.at(places[row])[:, None]


def _give_each_its_own(batch: Any, models: Sequence[Any]) -> None:
    """Copy every field in which the compiled worlds differ, derived constants included."""
    from mujoco.batch import MODEL_FIELDS

    for name in sorted(field for field in MODEL_FIELDS if not field.startswith("opt.")):
        values = [np.asarray(getattr(model, name)) for model in models]
        if any(not np.array_equal(values[0], other) for other in values[1:]):
            batch.expand(name)[:] = np.stack(values)
