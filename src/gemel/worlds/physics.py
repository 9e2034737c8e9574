"""The world's physics: MuJoCo with the hidden parameters, behind imperfect drives, on a table of uneven friction."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from gemel.geometry import SE3, SO3
from gemel.services.tasks.objects import ObjectModel
from gemel.worlds.drive import Drive
from gemel.worlds.hidden import Hidden
from gemel.worlds.history import History
from gemel.worlds.imperfections import Imperfections
from gemel.worlds.machine import Machine
from gemel.worlds.scene import cells, scene_mjcf

Joints = Float[np.ndarray, " joint"]
TICK_S = 0.008
"""Time between two entries of the history, and between two looks at the table's friction [s]."""


@dataclass(frozen=True, eq=False)
class Contact:
    """What touches the object at one moment, by tool."""

    is_touching: bool
    force: float
    """Sum of the normal forces of the tools on the object [N]."""


@dataclass(frozen=True, eq=False)
class _Tick:
    """One entry of the history."""

    time_s: float
    poses: Float[np.ndarray, "body 7"]
    joints: Joints
    tool_force: float
    penetration: float


class Physics:
    """One world in motion. Joint values here are true ones; readings are made by `WorldRobot`."""

    def __init__(
        self,
        machine: Machine,
        model: ObjectModel,
        hidden: Hidden,
        imperfections: Imperfections,
        *,
        period_s: float,
    ) -> None:
        import mujoco

        self._mujoco: Any = mujoco
        self.machine, self.object_model, self.hidden = machine, model, hidden
        self._imperfections, self._period_s = imperfections, period_s
        self.model: Any = mujoco.MjModel.from_xml_string(scene_mjcf(machine, model, hidden, control_period_s=period_s))
        self.data: Any = mujoco.MjData(self.model)
        self._steps = round(period_s / self.model.opt.timestep)
        self._steps_per_tick = max(1, round(TICK_S / self.model.opt.timestep))
        self._addresses = self._joint_addresses()
        self._lead_s = self.model.actuator_biasprm[:, 2] / self.model.actuator_biasprm[:, 1]
        self._cell_pairs = [self.model.pair(f"table-cell{i}").id for i in range(len(cells(model)))]
        self._cell_centres = np.array([box.centre for box, _ in cells(model)])
        self.drive = Drive.at_rest(imperfections, machine.is_gripper, machine.home)
        self._ticks: list[_Tick] = []
        self.swept_friction: list[float] = []

    def reset(self, q: Joints, T_world_object: SE3, velocity: Float[np.ndarray, "6"] | None = None) -> None:
        """Arm at rest at `q`, object at its pose with a velocity (linear [m/s] in world, angular [rad/s] in body)."""
        self._mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[self._addresses] = q
        for arm in self.machine.arms:
            if arm.has_gripper:
                self.data.joint(f"{arm.name}_finger_right_slide").qpos[0] = self._finger(arm.name)
        joint = self.data.joint(self.object_model.name)
        joint.qpos[:] = np.concatenate([T_world_object.translation, T_world_object.rotation.wxyz])
        joint.qvel[:] = np.zeros(6) if velocity is None else velocity
        self.drive = Drive.at_rest(self._imperfections, self.machine.is_gripper, q)
        self.data.ctrl[:] = q
        self._mujoco.mj_forward(self.model, self.data)
        self._ticks, self.swept_friction = [], []
        self._keep_tick()

    def settle(self, periods: int) -> None:
        """Let everything come to rest, then start time and history again."""
        for _ in range(periods):
            self.advance()
        self.data.time, self.data.qvel[:] = 0.0, 0.0
        self._ticks, self.swept_friction = [], []
        self._keep_tick()

    def command(self, target: Joints) -> None:
        """Send the drives towards true joint values, to be reached one period from now."""
        self.drive.command(target, self.time_s, self.time_s + self._period_s)

    def advance(self) -> None:
        """Let one control period pass."""
        for step in range(self._steps):
            position, velocity = self.drive.advance(self.time_s, self.model.opt.timestep)
            # Velocity feed-forward: without it a servo trails its reference by kv/kp, an extra lag that nobody set.
            self.data.ctrl[:] = position + self._lead_s * velocity
            if step % self._steps_per_tick == 0:
                self._feel_table()
            self._mujoco.mj_step(self.model, self.data)
            if (step + 1) % self._steps_per_tick == 0 or step + 1 == self._steps:
                self._keep_tick()

    @property
    def time_s(self) -> float:
        """Time since the reset [s]."""
        return float(self.data.time)

    @property
    def joint_positions(self) -> Joints:
        """True joint values [rad or m], in the machine's order."""
        return np.array(self.data.qpos[self._addresses])

    @property
    def T_world_object(self) -> SE3:
        """True pose of the object."""
        body = self.data.body(self.object_model.name)
        return SE3(SO3(body.xquat.copy()), body.xpos.copy())

    @property
    def contact(self) -> Contact:
        """Whether and how hard tools touch the object now."""
        table = self.model.geom("table").id
        force, found = np.zeros(6), 0.0
        touching: Bool[np.ndarray, " contact"] = np.zeros(self.data.ncon, dtype=bool)
        for i in range(self.data.ncon):
            if table not in self.data.contact.geom[i]:
                self._mujoco.mj_contactForce(self.model, self.data, i, force)
                touching[i] = force[0] > 0.0
                found += float(force[0])
        return Contact(bool(touching.any()), found)

    def deepest_penetration(self) -> float:
        """Largest overlap of two bodies now [m]."""
        return float(max(0.0, -self.data.contact.dist.min())) if self.data.ncon else 0.0

    def history(self) -> History:
        """Everything since the reset."""
        names = tuple(self.model.body(i).name for i in range(self.model.nbody))
        times = np.array([tick.time_s for tick in self._ticks])
        return History(names, times, np.stack([tick.poses for tick in self._ticks]))

    def log(self, times_s: Float[np.ndarray, " t"]) -> dict[str, np.ndarray]:
        """What was true at the ticks nearest to the given times: joints, tool force [N], penetration [m]."""
        ticks = np.array([tick.time_s for tick in self._ticks])
        chosen = [self._ticks[int(np.argmin(np.abs(ticks - time_s)))] for time_s in times_s]
        return {
            "joint_positions": np.stack([tick.joints for tick in chosen]),
            "tool_force": np.array([tick.tool_force for tick in chosen]),
            "penetration": np.array([tick.penetration for tick in chosen]),
        }

    def _keep_tick(self) -> None:
        poses = np.concatenate([self.data.xquat, self.data.xpos], axis=1)
        force, depth = self.contact.force, self.deepest_penetration()
        self._ticks.append(_Tick(self.time_s, poses, self.joint_positions, force, depth))

    def _feel_table(self) -> None:
        """Give every cell of the object the friction of the place that it lies on."""
        places = (self.T_world_object @ self._cell_centres)[:, :2]
        friction = self.hidden.friction.at(places)
        self.model.pair_friction[self._cell_pairs, :2] = friction[:, None]
        if np.linalg.norm(self.data.joint(self.object_model.name).qvel[:3]) > 1e-3:
            self.swept_friction.append(float(friction.mean()))

    def _joint_addresses(self) -> np.ndarray:
        names = [
            f"{n.split('_')[0]}_finger_left_slide" if n.endswith("_gripper") else n for n in self.machine.joint_names
        ]
        return np.array([self.model.joint(name).qposadr[0] for name in names])

    def _finger(self, side: str) -> float:
        return float(self.data.joint(f"{side}_finger_left_slide").qpos[0])
