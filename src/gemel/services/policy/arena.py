"""A task in a compiled scene: where things start, what is measured, what counts as done; for many simulations at once.

The robot reports and is commanded by its own nominal kinematics, as a real one is; the scene has the calibrated one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.artifacts.belief import Belief
from gemel.artifacts.task import Criterion, Task
from gemel.errors import ConfigError, choices_text
from gemel.geometry import SE3, SO3
from gemel.services.policy.control import Arm, Control, JointControl, TipControl
from gemel.services.policy.outcome import OF_EPISODES, wrapped
from gemel.services.policy.site import Site

Values = Float[np.ndarray, " n"]
_PLACES = ("object/x", "object/y", "object/z", "object/yaw")
_PLACING_STEPS = 30
"""Most steps of inverse kinematics that bring an arm from home to its start..."""
_PLACED_RAD = 1e-9
"""...fewer where a step moves no joint by more than this [rad or m]."""


@dataclass(frozen=True, eq=False)
class Arena:
    """One task in one scene."""

    model: Any
    """`mujoco.MjModel`."""
    task: Task
    object: str
    """Body that the task handles."""
    joint_names: tuple[str, ...]
    """Measured joints, in the order of the log."""
    readings_at: Int[np.ndarray, " joint"]
    """Where each is in the positions."""
    commands_at: Int[np.ndarray, " joint"]
    """Where each is in the commands."""
    home: Float[np.ndarray, " joint"]
    T_world_rest: SE3
    """A pose in which the object lies on the table."""
    place: Callable[[Float[np.ndarray, "n joint"], SE3], Float[np.ndarray, "n nq"]]
    """States from readings and `Ts_world_object`."""
    arm: Arm | None = None
    """What carries the tip, where the task speaks of one."""
    T_object_task: SE3 = field(default_factory=SE3.identity)
    """The task's frame of the object in the scene's."""
    belief: Belief | None = None
    """What physics is drawn from."""
    fixed: Mapping[str, float] = field(default_factory=dict)
    """Parameters that are set in every simulation, such as feed-forward of servos."""
    delay_s: float = 0.0
    """How late commands arrive at servos whose delay is not in the belief [s]."""
    site: Site = field(default_factory=Site)
    """Where table and robot stand."""

    def __post_init__(self) -> None:
        elsewhere = (
            "everything starts at rest here: what is thrown needs a stand-in world (`gemel world`) or a real arm"
        )
        self._check_names(self.task.initial_conditions, f"Task {self.task.name!r}", remedy=elsewhere)

    @property
    def every(self) -> int:
        """Physics steps of a control period."""
        return max(1, round(self.task.control_period_s / float(self.model.opt.timestep)))

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the action's elements."""
        if self.is_tip_controlled:
            return tuple(quantity.name for quantity in self.task.action)
        return self.joint_names

    @property
    def is_tip_controlled(self) -> bool:
        """Whether actions move the tip, and not the joints."""
        return self.arm is not None and {q.name for q in self.task.action} == {"tip_x", "tip_y"}

    @property
    def action_bounds(self) -> Float[np.ndarray, "2 action"]:
        """Smallest and largest actions."""
        rows = [(q.low, q.high) for q in self.task.action for _ in range(q.width)]
        return np.array(rows, dtype=np.float64).T

    def control(self, count: int) -> Control:
        """The controllers of so many robots."""
        if self.is_tip_controlled:
            assert self.arm is not None
            largest = float(np.abs(self.action_bounds).max())
            return TipControl(self.arm, count, len(self.joint_names), largest_m=largest)
        low, high = self.action_bounds
        if len(low) != len(self.joint_names):
            raise ConfigError(
                f"Task {self.task.name!r} has {len(low)} actions, {[q.name for q in self.task.action]}; the robot has "
                f"{len(self.joint_names)} joints and no tip that they could move.",
                remedy="use a task whose actions are joint positions or tip_x and tip_y",
            )
        return JointControl(low, high)

    def start(self, given: Mapping[str, Values], count: int) -> tuple[np.ndarray, Float[np.ndarray, "n joint"]]:
        """States (n, nq) and readings at the start of episodes, from values by the names of `initial_conditions`.

        `joint/NAME` are readings to start from; they win over a place of the tip.
        """
        self._check_names(given, "An episode", remedy="use one of the choices")
        readings = np.repeat(self.home[None], count, axis=0)
        for column, name in enumerate(self.joint_names):
            readings[:, column] = given.get(f"joint/{name}", readings[:, column])
        is_given = any(f"joint/{name}" in given for name in self.joint_names)
        if self.arm is not None and {"tip/x", "tip/y"} <= set(given) and not is_given:
            places = np.column_stack([given["tip/x"], given["tip/y"]])
            for _ in range(_PLACING_STEPS):
                before, readings = readings, self.arm.reach(places, readings)
                if np.abs(readings - before).max(initial=0.0) < _PLACED_RAD:
                    break
        return self.place(readings, self._placed(given, count)), readings

    def readings(self, qpos: Float[np.ndarray, "n nq"]) -> Float[np.ndarray, "n joint"]:
        """What the encoders say."""
        return qpos[:, self.readings_at]

    def object_poses(self, qpos: Float[np.ndarray, "*n nq"]) -> SE3:
        """`Ts_world_object` in the task's frame of the object."""
        at = self._object_at
        return SE3(SO3(qpos[..., at + 3 : at + 7]), qpos[..., at : at + 3]) @ self.T_object_task

    def values(
        self, qpos: Float[np.ndarray, "n nq"], *, readings: Float[np.ndarray, "n joint"] | None = None,
        off: Float[np.ndarray, "n 3"] | None = None,
    ) -> dict[str, Values]:  # fmt: skip
        """Quantities that observations, rewards and criteria speak of, as far as the task defines them.

        They are the truth, unless sensors see it: `readings` of encoders, and `off`, by which the object is seen
        elsewhere in x, y [m] and yaw [rad].
        """
        (x, y, z), axis = self._task_frame_in_world(qpos)
        yaw = np.arctan2(axis[1], axis[0])
        if off is not None:
            x, y, yaw = x + off[:, 0], y + off[:, 1], wrapped(yaw + off[:, 2])
        found = {"object/x": x, "object/y": y, "object/yaw": yaw}
        found |= self.site.values(x, y, z)
        goal = self.task.goal
        if {"object/x", "object/y"} <= set(goal):
            found["object/position_error"] = np.hypot(x - goal["object/x"], y - goal["object/y"])
        if "object/yaw" in goal:
            found["object/yaw_error"] = np.abs(wrapped(yaw - goal["object/yaw"]))
        if self.arm is not None:
            tips = self.arm.tips(self.readings(qpos) if readings is None else readings)
            found |= {"tip/x": tips[:, 0], "tip/y": tips[:, 1]}
            found["tip/distance"] = np.hypot(tips[:, 0] - x, tips[:, 1] - y)
        return found

    def holds(self, criterion: Criterion, values: Mapping[str, Values]) -> Bool[np.ndarray, " n"]:
        """Where a criterion holds."""
        if criterion.quantity not in values:
            whole = f"{criterion.quantity} is known of whole episodes alone: run the task with `run_episode`"
            raise ConfigError(
                f"Nothing in this scene measures what task {self.task.name!r} is judged by: "
                f"{choices_text(criterion.quantity, tuple(values))}",
                remedy=whole if criterion.quantity in OF_EPISODES else "use one of the choices in the task's criteria",
            )
        return np.asarray(values[criterion.quantity] <= criterion.bound)

    def check_criteria(self) -> None:
        """Refuse a task that nobody could tell the outcome of while it runs."""
        values = self.values(np.array(self.model.qpos0)[None])
        for criterion in (*self.task.success, *self.task.failure):
            self.holds(criterion, values)

    def _check_names(self, names: Iterable[str], whose: str, *, remedy: str) -> None:
        """Refuse values to start from that nothing here would be put to."""
        known = (*_PLACES, *(f"joint/{name}" for name in self.joint_names))
        known += ("tip/x", "tip/y") if self.arm is not None else ()
        unknown = next((name for name in names if name not in known), None)
        if unknown is not None:
            raise ConfigError(
                f"{whose} has an initial condition that nothing in this scene can be put to: "
                f"{choices_text(unknown, known)}",
                remedy=remedy,
            )

    @property
    def _object_at(self) -> int:
        body = self.model.body(self.object).id
        return int(self.model.jnt_qposadr[self.model.body_jntadr[body]])

    def _task_frame_in_world(self, qpos: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Origin (x, y, z) and direction (x, y) of the x axis of the task's frame; written out, as it is often done."""
        at = self._object_at
        w, x, y, z = np.ascontiguousarray(qpos[:, at + 3 : at + 7].T)
        rows = (
            (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
            (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
            (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
        )
        t, a = self.T_object_task.translation, self.T_object_task.rotation.as_matrix()[:, 0]
        origin = [qpos[:, at + i] + _dot(row, t) for i, row in enumerate(rows)]
        return origin, [_dot(row, a) for row in rows[:2]]

    def _placed(self, given: Mapping[str, Values], count: int) -> SE3:
        """The object's pose, at rest, where the task's frame is asked for."""
        T_rest_task = self.T_world_rest @ self.T_object_task
        p, axis = T_rest_task.translation, T_rest_task.rotation.as_matrix()[:, 0]
        yaw = np.broadcast_to(given.get("object/yaw", np.arctan2(axis[1], axis[0])), (count,))
        turn = np.zeros((count, 3))
        turn[:, 2] = yaw - np.arctan2(axis[1], axis[0])
        names = ("object/x", "object/y", "object/z")
        place = np.column_stack([np.broadcast_to(given.get(n, p[i]), (count,)) for i, n in enumerate(names)])
        return SE3(SO3.exp(turn) @ T_rest_task.rotation, place) @ self.T_object_task.inverse()


def _dot(row: tuple[np.ndarray, ...], vector: Float[np.ndarray, "3"]) -> np.ndarray:
    """A row of many matrices times a vector; parts that are zero cost nothing."""
    return sum((part * float(v) for part, v in zip(row, vector, strict=True) if v), np.zeros(1))
