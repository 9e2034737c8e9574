"""Where bodies are, from joint values alone: for any number of states at once."""

from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError, choices_text
from gemel.geometry import SE3, SO3

_FREE, _BALL, _SLIDE, _HINGE = range(4)
"""Codes of mujoco.mjtJoint."""


def body_poses(model: Any, name: str, qpos: Float[np.ndarray, "*batch nq"]) -> SE3:
    """`T_world_body`, batch (*batch,), of the body of that name in a compiled `mujoco.MjModel`."""
    names = [model.body(i).name for i in range(model.nbody)]
    if name not in names:
        raise ConfigError(f"Body {choices_text(name, names)}", remedy="use an object or a link of the scene")
    chain, body = [], names.index(name)
    while body > 0:
        chain.append(body)
        body = int(model.body_parentid[body])
    pose = SE3.identity(*qpos.shape[:-1])
    for body in reversed(chain):
        pose = _moved(model, body, qpos, pose)
    return pose


def _moved(model: Any, body: int, qpos: np.ndarray, T_world_parent: SE3) -> SE3:
    """The body's pose from its parent's: its rest pose, then its joints one after the other."""
    rest = SE3(SO3(np.array(model.body_quat[body])), np.array(model.body_pos[body]))
    pose = T_world_parent @ rest
    first = int(model.body_jntadr[body])
    for joint in range(first, first + int(model.body_jntnum[body])):
        start = int(model.jnt_qposadr[joint])
        kind = int(model.jnt_type[joint])
        if kind == _FREE:
            return SE3(SO3(qpos[..., start + 3 : start + 7]), qpos[..., start : start + 3])
        pose = pose @ _motion(model, joint, kind, qpos[..., start:])
    return pose


def _motion(model: Any, joint: int, kind: int, values: np.ndarray) -> SE3:
    """What one joint does, in the body's frame before it."""
    axis, anchor = np.array(model.jnt_axis[joint]), np.array(model.jnt_pos[joint])
    if kind == _BALL:
        turn = SO3(values[..., :4])
        return SE3(turn, anchor - turn @ anchor)
    travel = values[..., :1] - model.qpos0[model.jnt_qposadr[joint]]
    if kind == _SLIDE:
        return SE3(SO3.identity(*values.shape[:-1]), travel * axis)
    turn = SO3.exp(travel * axis)
    return SE3(turn, anchor - turn @ anchor)
