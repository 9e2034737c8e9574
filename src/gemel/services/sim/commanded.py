"""What recorded actions asked of the joints, as far as that can be known.

An action is the target from its own time on, reached in a straight line by the next action's time. Steps of the tool
are added up from where the tool was at the start, as a controller that keeps height and orientation does, and turned
into joint targets by damped least squares on the robot as its file describes it: that is what its controller believes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.capture import JointSignal
from gemel.artifacts.episode import Episode
from gemel.artifacts.robot import RobotModel
from gemel.errors import ConfigError, choices_text
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.services.kinematics.arms import find_arms
from gemel.services.kinematics.tree import kinematic_tree
from gemel.services.sim.joint_path import JointPath

JOINTS, TOOL_STEPS, NONE = "joints", "tool-steps", "none"
_AXES = ("x", "y", "z")
_ITERATIONS, _DAMPING, _CLOSE = 60, 1e-3, 1e-7


@dataclass(frozen=True, eq=False)
class ActionReader:
    """How the recorded actions of one robot become joint targets."""

    kind: str
    """`joints`, `tool-steps`, or `none` where they cannot."""
    names: tuple[str, ...]
    """Of the elements of an action."""
    joints: tuple[JointSignal, ...]
    model_joints: tuple[str, ...]
    """The robot model's joint of each logged one."""
    robot: Any = None
    """`mujoco.MjModel` of the robot as its file describes it."""
    link: str = ""
    """What carries the tool."""
    why: str = ""
    """Why nothing can be replayed, where it cannot."""

    def path(self, episode: Episode) -> JointPath | None:
        """What the actions of an episode asked for; None where that cannot be known."""
        return commanded_path(
            self.kind, episode, self.names, self.joints, robot=self.robot, link=self.link,
            model_joints=self.model_joints,
        )  # fmt: skip


def action_reader(
    robot: RobotModel | None,
    blobs: Blobs,
    *,
    names: Sequence[str],
    units: Sequence[str],
    joints: Sequence[JointSignal],
    model_joints: Sequence[str],
    given: str = "auto",
    arms: Mapping[str, Sequence[str]],
) -> ActionReader:
    """A reader of actions with these names and units; `given` and `arms` are what settings say of them."""
    kind = kind_of_actions(names, units, joints, given)
    parts = (tuple(names), tuple(joints), tuple(model_joints))
    if kind == NONE:
        return ActionReader(NONE, *parts, why=_why_none(names, given))
    if robot is None or not any(model_joints):
        return ActionReader(NONE, *parts, why="there is no robot model with joints that were logged")
    model = compile_stored_robot(robot, blobs)
    found = find_arms(kinematic_tree(model), model_joints, joints, arms)
    if kind == TOOL_STEPS and len(found) != 1:
        names_found = " and ".join(arm.name for arm in found)
        return ActionReader(NONE, *parts, why=f"nothing says which arm's tool they are steps of: {names_found}")
    return ActionReader(kind, *parts, robot=model, link=found[0].link)


def kind_of_actions(names: Sequence[str], units: Sequence[str], joints: Sequence[JointSignal], given: str) -> str:
    """`joints`, `tool-steps` or `none`; as given, where names allow it, else by names and units."""
    known = tuple(signal.name for signal in joints)
    if given == JOINTS and names and not set(names) <= set(known):
        strange = next(name for name in names if name not in known)
        raise ConfigError(
            f"Actions are said to be targets of logged joints, and one is called {strange!r}: "
            f"{choices_text(strange, known)}",
            remedy='leave out `actions` under [evaluate], or say "tool-steps" or "none"',
        )
    if given == TOOL_STEPS and names and any(_axis(name) is None for name in names):
        strange = next(name for name in names if _axis(name) is None)
        raise ConfigError(
            f"Actions are said to be steps of the tool, and one is called {strange!r}: names that end in _x, _y or _z "
            f"were expected, not {list(names)}.",
            remedy='leave out `actions` under [evaluate], or say "joints" or "none"',
        )
    if given != "auto":
        return given
    if names and set(names) <= set(known):
        return JOINTS
    if names and all(unit == "m" and _axis(name) is not None for name, unit in zip(names, units, strict=True)):
        return TOOL_STEPS
    return NONE


def _why_none(names: Sequence[str], given: str) -> str:
    if given == NONE:
        return "the settings say so"
    return "they are neither joint targets nor steps of the tool" if names else "none were logged"


def commanded_path(
    kind: str, episode: Episode, names: Sequence[str], joints: Sequence[JointSignal], *, robot: Any, link: str,
    model_joints: Sequence[str],
) -> JointPath | None:  # fmt: skip
    """Joint targets over time; `robot` is the compiled model (`mujoco.MjModel`), `link` carries the tool."""
    if kind == NONE or not len(episode.actions):
        return None
    start = episode.joint_positions[0]
    if kind == JOINTS:
        columns = [signal.name for signal in joints]
        targets = np.tile(start, (len(episode.actions), 1))
        for column, name in enumerate(names):
            targets[:, columns.index(name)] = episode.actions[:, column]
    else:
        targets = _tool_targets(robot, link, model_joints, start, _steps(episode, names))
    period_s = float(np.median(np.diff(episode.times_s)))
    ends_s = np.append(episode.times_s[1:], episode.times_s[-1] + period_s)
    return JointPath(np.append(episode.times_s[0], ends_s), np.concatenate([start[None], targets]))


def _axis(name: str) -> int | None:
    end = name.rsplit("_", 1)[-1].lower()
    return _AXES.index(end) if end in _AXES else None


def _steps(episode: Episode, names: Sequence[str]) -> Float[np.ndarray, "t 3"]:
    """Displacements of the tool along the axes of the robot's own world [m], each made by the next sample's time.

    The robot has made those too that the recorder lost: they are taken to be the mean of their neighbours, and belong
    to the sample before the gap, whose target holds until the next sample.
    """
    steps = np.zeros((len(episode.actions), 3))
    for column, name in enumerate(names):
        axis = _axis(name)
        if axis is not None:
            steps[:, axis] += episode.actions[:, column]
    apart_s = np.diff(episode.times_s)
    lost = np.round(apart_s / np.median(apart_s))[:, None] - 1.0
    means = 0.5 * (steps[:-1] + steps[1:])
    steps[:-1] += np.maximum(lost, 0.0) * means
    return steps


def _tool_targets(
    model: Any, link: str, joints: Sequence[str], start: Float[np.ndarray, " joint"], steps: Float[np.ndarray, "t 3"]
) -> Float[np.ndarray, "t joint"]:
    """Readings that put the link where the steps lead it, turned as it was at the start."""
    import mujoco

    data, body = mujoco.MjData(model), model.body(link).id
    columns = [(c, model.joint(name)) for c, name in enumerate(joints) if name]
    places, dofs = [int(j.qposadr[0]) for _, j in columns], [int(j.dofadr[0]) for _, j in columns]
    data.qpos[places] = [start[c] for c, _ in columns]
    mujoco.mj_kinematics(model, data)
    position, quaternion = data.xpos[body].copy(), data.xquat[body].copy()
    targets = np.tile(start, (len(steps), 1))
    for t, step in enumerate(steps):
        position = position + step
        _reach(model, data, body, places, dofs, position, quaternion)
        for (c, _), place in zip(columns, places, strict=True):
            targets[t, c] = data.qpos[place]
    return targets


def _reach(
    model: Any, data: Any, body: int, places: list[int], dofs: list[int], position: np.ndarray, quaternion: np.ndarray
) -> None:
    """Damped least squares from where the joints are, until the link is at the pose or comes no nearer."""
    import mujoco

    turn, jacobian = np.zeros(3), np.zeros((6, model.nv))
    for _ in range(_ITERATIONS):
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mju_subQuat(turn, quaternion, data.xquat[body])
        rotation = data.xmat[body].reshape(3, 3) @ turn  # subQuat answers in the link's frame
        error = np.concatenate([position - data.xpos[body], rotation])
        if np.abs(error).max() < _CLOSE:
            return
        mujoco.mj_jacBody(model, data, jacobian[:3], jacobian[3:], body)
        J = jacobian[:, dofs]
        data.qpos[places] += J.T @ np.linalg.solve(J @ J.T + _DAMPING**2 * np.eye(6), error)
