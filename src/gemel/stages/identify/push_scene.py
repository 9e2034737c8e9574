"""A twin's object and a bare tip that pushes it: where candidate pushes are tried out before a robot makes them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, choices_text
from gemel.geometry import SE3
from gemel.services.sim.compile import CompileConfig, compile_twin, mean_draw
from gemel.services.sim.joint_path import TICK_S, steps_of_tick
from gemel.services.sim.native import SimulatorNative
from gemel.stages.identify.problem import pose_residuals
from gemel.stages.identify.suggest import Outcome, Push

TIP_RADIUS_M = 0.010
_POSITION_SD_M, _ROTATION_SD_RAD = 0.001, 0.005
_MODEL_ERROR = 0.03
"""Part of the way that a prediction is expected to miss."""
_KP, _KV, _TIP_KG = 1e5, 2e3, 10.0


@dataclass(frozen=True, eq=False)
class PushScene:
    """One object, a table and a tip on two slides."""

    model: Any
    object: str
    T_world_object: SE3
    names: tuple[str, ...]
    """Parameters of the belief that this scene has."""
    columns: tuple[int, ...]
    """Their columns in the belief."""

    def outcome(self, push: Push) -> Outcome:
        """What would be tracked of a push, half way and at its end, in units of the expected error."""

        def observed(draws: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n m"]:
            simulator = SimulatorNative(self.model, len(draws))
            leads = {f"robot/tip_{axis}/lead": _KV / _KP for axis in "xy"}
            values = [draws[:, list(self.columns)], np.tile(list(leads.values()), (len(draws), 1))]
            simulator.set_parameters([*self.names, *leads], np.concatenate(values, axis=1))
            path = self._path(push)
            qpos = np.repeat(self.model.qpos0[None], len(draws), axis=0)
            for axis, value in zip("xy", path[0], strict=True):
                qpos[:, self.model.joint(f"tip_{axis}").qposadr[0]] = value
            simulator.reset(qpos, commands=np.tile(path[0], (len(draws), 1)))
            every = steps_of_tick(simulator.timestep_s)
            rollout = simulator.rollout(path[None, 1:], every=every, is_ramp=True)
            seen = rollout.qpos[:, [rollout.qpos.shape[1] // 2, -1]]
            moved = pose_residuals(simulator.body_poses(self.object, seen), self.T_world_object)
            sd = np.array([_POSITION_SD_M + _MODEL_ERROR * push.length_m] * 3 + [_ROTATION_SD_RAD + _MODEL_ERROR] * 3)
            found = (moved / sd).reshape(len(draws), -1)
            found[rollout.is_diverged] = np.nan
            return found

        return observed

    def _path(self, push: Push) -> Float[np.ndarray, "t 2"]:
        """The tip's way on the table."""
        count = max(2, int(np.ceil(push.length_m / push.speed_m_s / TICK_S)))
        along = np.array([np.cos(push.direction_rad), np.sin(push.direction_rad)])
        local = np.asarray(push.start) + np.linspace(0.0, push.length_m, count + 1)[:, None] * along
        turn = self.T_world_object.rotation.as_matrix()[:2, :2]
        return np.asarray(local @ turn.T + self.T_world_object.translation[:2])


def push_scene(twin: Twin, name: str, blobs: Blobs) -> PushScene:
    """The scene of one of a twin's objects."""
    import mujoco

    if name not in twin.colliders:
        raise ConfigError(f"Object {choices_text(name, tuple(twin.colliders))}", remedy="use one of the twin's objects")
    config = CompileConfig(has_force_sensors=False, is_robot_included=False)
    compiled = compile_twin(twin, blobs, None, config)
    spec = compiled.spec
    height = twin.table_height_m or 0.0
    tip = spec.worldbody.add_body(name="tip", pos=[0.0, 0.0, height + 0.08])
    for axis, direction in (("x", [1.0, 0.0, 0.0]), ("y", [0.0, 1.0, 0.0])):
        tip.add_joint(name=f"tip_{axis}", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=direction)
        servo = spec.add_actuator(name=f"tip_{axis}", target=f"tip_{axis}", trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=_KP, kv=_KV)
    tip.add_geom(
        name="tip", type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[TIP_RADIUS_M, 0.065, 0.0], mass=_TIP_KG, contype=0,
        conaffinity=0,
    )  # fmt: skip
    friction = _tool_friction(twin, name)
    for i in range(len(twin.colliders[name])):
        spec.add_pair(
            name=f"{name}-pusher/{i}", geomname1="tip", geomname2=f"{name}/{i}", condim=3,
            friction=[friction, friction, 0.005, 1e-4, 1e-4],
        )  # fmt: skip
    model = spec.compile()
    known = SimulatorNative(model, 1).parameter_names
    columns = tuple(i for i, parameter in enumerate(twin.belief.names) if parameter in known)
    return PushScene(model, name, twin.initial_poses[name], tuple(twin.belief.names[i] for i in columns), columns)


def outline_of(twin: Twin, name: str, blobs: Blobs) -> Float[np.ndarray, "n 2"]:
    """Corners of the object's pieces, seen from above, in its own frame."""
    pieces = [np.asarray(blobs.get_table(piece)["vertices"], dtype=float) for piece in twin.colliders[name]]
    return np.concatenate(pieces)[:, :2]


def _tool_friction(twin: Twin, name: str) -> float:
    """Mean belief of what the object meets besides the table."""
    contacts = (key for key in twin.belief.names if key.startswith(f"contact/{name}-") and "table" not in key)
    return next((mean_draw(twin)[key] for key in contacts), 0.3)
