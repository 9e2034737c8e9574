"""Inverse kinematics of the nominal machine by damped least squares on MuJoCo's Jacobians.

This is what the robot's own controller knows: nominal link lengths, nominal base, no offsets. What it believes is
therefore wrong by the world's imperfections, as on a real arm. Method: Nakamura and Hanafusa (1986); the free
directions are used to stay near a comfortable posture (Liégeois 1977).
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3, SO3
from gemel.worlds.machine import Arm, Machine, machine_mjcf

Joints = Float[np.ndarray, " joint"]
_DAMPING = 0.02
_LONGEST_STEP_RAD = 0.25
_LIMIT_MARGIN_RAD = 0.02
EVERYTHING = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
"""Weights of position along and rotation about the tool's axes."""
FREE_ROLL = (1.0, 1.0, 1.0, 1.0, 1.0, 0.0)
"""The same, with the turn about the tool's z axis left free."""


class Kinematics:
    """Forward and inverse kinematics of every arm of a machine, in the world of the nominal bases."""

    def __init__(self, machine: Machine) -> None:
        import mujoco

        self._mujoco: Any = mujoco
        self.machine = machine
        self._model = mujoco.MjModel.from_xml_string(machine_mjcf(machine))
        self._data = mujoco.MjData(self._model)

    def forward(self, arm: Arm, q: Joints, *, T_link_frame: SE3 | None = None) -> SE3:
        """`T_world_frame` of a frame on the last link (the tool unless told) at the hinges' angles [rad]."""
        self._set(arm, q)
        return self._link_pose(arm) @ (arm.T_link_tool if T_link_frame is None else T_link_frame)

    def solve(
        self,
        arm: Arm,
        T_world_frame: SE3,
        start: Joints,
        *,
        T_link_frame: SE3 | None = None,
        weights: tuple[float, ...] = EVERYTHING,
        posture: Joints | None = None,
        iterations: int = 60,
    ) -> tuple[Joints, float]:
        """Hinge angles that bring the frame there, and the remaining weighted error [m and rad together]."""
        frame = arm.T_link_tool if T_link_frame is None else T_link_frame
        low, high = np.array([link.range_rad for link in arm.links]).T
        q = np.array(start, dtype=np.float64)
        error = np.zeros(6)
        for _ in range(iterations):
            self._set(arm, q)
            T_world_now = self._link_pose(arm) @ frame
            error = np.asarray(weights) * _error_in_frame(T_world_now, T_world_frame)
            if np.linalg.norm(error) < 1e-5 and posture is None:
                break
            J = np.asarray(weights)[:, None] * self._jacobian(arm, T_world_now)
            pull = np.zeros_like(q) if posture is None else 0.1 * (posture - q)
            q = q + _limited(_damped_step(J, error, pull))
            q = np.clip(q, low + _LIMIT_MARGIN_RAD, high - _LIMIT_MARGIN_RAD)
        return q, float(np.linalg.norm(error))

    def _set(self, arm: Arm, q: Joints) -> None:
        for name, value in zip(arm.hinge_names, q, strict=True):
            self._data.joint(name).qpos[0] = value
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_comPos(self._model, self._data)

    def _link_pose(self, arm: Arm) -> SE3:
        body = self._data.body(arm.tool_link)
        return SE3(SO3(body.xquat.copy()), body.xpos.copy())

    def _jacobian(self, arm: Arm, T_world_frame: SE3) -> Float[np.ndarray, "6 joint"]:
        """Velocity of the frame, in its own axes, for each joint of the arm."""
        linear, angular = np.zeros((3, self._model.nv)), np.zeros((3, self._model.nv))
        body = self._model.body(arm.tool_link).id
        self._mujoco.mj_jac(self._model, self._data, linear, angular, T_world_frame.translation, body)
        columns = [self._model.joint(name).dofadr[0] for name in arm.hinge_names]
        R = T_world_frame.rotation.as_matrix()
        return np.concatenate([R.T @ linear[:, columns], R.T @ angular[:, columns]])


def _error_in_frame(T_world_now: SE3, T_world_goal: SE3) -> Float[np.ndarray, "6"]:
    """Translation [m] and rotation vector [rad] from now to the goal, in the axes of now."""
    between = T_world_now.inverse() @ T_world_goal
    return np.concatenate([between.translation, between.rotation.log()])


def _damped_step(J: np.ndarray, error: np.ndarray, pull: np.ndarray) -> Joints:
    """Damped least-squares step; `pull` acts only where the task leaves the arm free."""
    gain = J.T @ np.linalg.inv(J @ J.T + _DAMPING**2 * np.eye(len(error)))
    return np.asarray(gain @ error + pull - gain @ (J @ pull))


def _limited(step: Joints) -> Joints:
    longest = float(np.max(np.abs(step)))
    return step if longest <= _LONGEST_STEP_RAD else step * (_LONGEST_STEP_RAD / longest)
