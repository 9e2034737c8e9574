"""What the environments of a twin have in common: spaces, observations, and how a control period went.

This file is about gymnasium, so it imports it.
"""

from typing import Any

import gymnasium as gym  # noqa: TID253
import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from gemel.errors import ConfigError
from gemel.services.policy.arena import Arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.reward import rewards
from gemel.services.policy.twin_cameras import TwinCameras

Obs = Any
FLAGS = ("is_success", "is_diverged")
"""What infos say of an episode; both are false when it begins."""
RGB = "rgb_array"
_JOINTS = "joints"


def action_space(arena: Arena) -> gym.spaces.Box:
    """The task's actions, in its units."""
    low, high = arena.action_bounds.astype(np.float32)
    return gym.spaces.Box(low, high, dtype=np.float32)


def observation_space(arena: Arena, cameras: TwinCameras | None) -> gym.spaces.Space[Any]:
    """The task's quantities, and images where there are cameras. States are unbounded: objects fall off tables."""
    width = sum(quantity.width for quantity in arena.task.observation)
    state = gym.spaces.Box(-np.inf, np.inf, (width,), dtype=np.float32)
    if cameras is None:
        return state
    images = {
        name: gym.spaces.Box(0, 255, (size[1], size[0], 3), dtype=np.uint8) for name, size in cameras.sizes().items()
    }
    return gym.spaces.Dict({"state": state, **images})


def metadata(ground: Playground, render_mode: str | None) -> dict[str, Any]:
    """How often and in which modes the environment can be drawn; a mode that it has not is refused."""
    modes = [] if ground.cameras is None else [RGB]
    if render_mode is not None and render_mode not in modes:
        raise ConfigError(
            f"render_mode is {render_mode!r}; with the cameras given it may be {' or '.join([*modes, 'None'])}.",
            remedy=f'give `cameras` and render_mode="{RGB}", or leave it out',
        )
    return {"render_modes": modes, "render_fps": round(1.0 / ground.arena.task.control_period_s)}


def observed_state(ground: Playground) -> Float[np.ndarray, "sim width"]:
    """The task's observation of all simulations, as sensors see it."""
    values, columns = ground.seen_values(), []
    for quantity in ground.arena.task.observation:
        if quantity.name == _JOINTS:
            columns.append(ground.readings())
        elif quantity.name in values:
            columns.append(values[quantity.name][:, None])
        else:
            raise ConfigError(
                f"Nothing in this scene measures {quantity.name!r}, which task {ground.arena.task.name!r} observes.",
                remedy=f"use a task that observes only {_JOINTS}, {', '.join(values)}",
            )
    return np.concatenate(columns, axis=1).astype(np.float32)


def observed_images(ground: Playground, rows: Int[np.ndarray, " row"]) -> dict[str, UInt8[np.ndarray, "row _ _ 3"]]:
    """The newest frames of some simulations, by camera; none without cameras."""
    if ground.cameras is None:
        return {}
    return ground.cameras.images(rows, ground.randomisation, ground.rng)


def first_frames(ground: Playground, images: dict[str, np.ndarray]) -> Any:
    """What is rendered: the first camera's frames of the last observation, which is drawn once and not again."""
    if ground.cameras is None:
        raise ConfigError("The environment has no cameras.", remedy="give `cameras` when making it")
    ground.check_begun()
    return images[ground.cameras.names[0]]


class Trial:
    """One control period of all simulations, and how it went."""

    def __init__(self, ground: Playground, actions: np.ndarray) -> None:
        ground.check_begun()
        task = ground.arena.task
        actions = _checked_actions(ground, np.asarray(actions, dtype=np.float64))
        ground.step(actions)
        values = ground.values()
        is_success = ground.is_success(values)
        failed = ground.is_failure(values)
        self.terminated: Bool[np.ndarray, " sim"] = is_success | failed
        over = ground.steps >= round(task.time_limit_s / task.control_period_s)
        self.truncated: Bool[np.ndarray, " sim"] = over & ~self.terminated
        self.rewards = np.nan_to_num(rewards(task, values, actions, is_success))
        self.flags: dict[str, Bool[np.ndarray, " sim"]] = dict(
            zip(FLAGS, (is_success, ground.is_diverged.copy()), strict=True)
        )
        """What a trainer may want to know."""


def _checked_actions(ground: Playground, actions: np.ndarray) -> Float[np.ndarray, "sim action"]:
    """Actions as the robot carries them out: within their bounds."""
    wanted = (ground.count, len(ground.arena.action_names))
    if actions.shape != wanted or not np.isfinite(actions).all():
        raise ConfigError(
            f"Actions of shape {actions.shape} with {np.count_nonzero(~np.isfinite(actions))} values that are not "
            f"finite were given; {wanted} finite ones were expected.",
            remedy=f"give {', '.join(ground.arena.action_names)} for each simulation",
        )
    return np.clip(actions, *ground.arena.action_bounds)
