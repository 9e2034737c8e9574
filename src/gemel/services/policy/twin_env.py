"""A twin as Gymnasium environments, one simulation or many; this file is about gymnasium, so it imports it.

State observations are the task's quantities in its order; with cameras an observation is a dictionary with `state` and
one image for each camera. An episode ends with success, with failure (a broken simulation is one), or with the task's
time. In the vector environment an episode that ends begins anew in the same step, as `AutoresetMode.SAME_STEP` says.
"""

# mypy: disallow-subclassing-any=false

from typing import Any

import gymnasium as gym  # noqa: TID253
import numpy as np
from gymnasium.vector.utils import batch_space  # noqa: TID253
from jaxtyping import Bool, Float, Int, UInt8

from gemel.errors import ConfigError
from gemel.services.policy.arena import Arena
from gemel.services.policy.playground import Playground
from gemel.services.policy.reward import rewards
from gemel.services.policy.twin_cameras import TwinCameras

Obs = Any
_JOINTS = "joints"
_FIRST = np.zeros(1, dtype=np.int64)


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


def state(ground: Playground, values: dict[str, np.ndarray]) -> Float[np.ndarray, "sim width"]:
    """The task's observation of all simulations."""
    columns = []
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


class _Trial:
    """One control period of all simulations, and how it went."""

    def __init__(self, ground: Playground, actions: np.ndarray) -> None:
        task = ground.arena.task
        actions = np.asarray(actions, dtype=np.float64)
        wanted = (ground.count, len(ground.arena.action_names))
        if actions.shape != wanted or not np.isfinite(actions).all():
            raise ConfigError(
                f"Actions of shape {actions.shape} with {np.count_nonzero(~np.isfinite(actions))} values that are not "
                f"finite were given; {wanted} finite ones were expected.",
                remedy=f"give {', '.join(ground.arena.action_names)} for each simulation",
            )
        ground.step(actions)
        self.values = ground.values()
        self.is_success = ground.is_success(self.values)
        failed = ground.is_failure(self.values)
        self.terminated: Bool[np.ndarray, " sim"] = self.is_success | failed
        over = ground.steps >= round(task.time_limit_s / task.control_period_s)
        self.truncated: Bool[np.ndarray, " sim"] = over & ~self.terminated
        self.rewards = np.nan_to_num(rewards(task, self.values, actions, self.is_success))

    def infos(self, ground: Playground) -> dict[str, np.ndarray]:
        """What a trainer may want to know, one row for each simulation."""
        return {"is_success": self.is_success, "is_diverged": ground.is_diverged.copy()}


class TwinEnv(gym.Env[Any, np.ndarray]):
    """One simulation."""

    def __init__(self, ground: Playground, *, render_mode: str | None = None) -> None:
        ground.arena.check_criteria()
        self.ground, self.render_mode = ground, render_mode
        self.action_space = action_space(ground.arena)
        self.observation_space = observation_space(ground.arena, ground.cameras)
        modes = [] if ground.cameras is None else ["rgb_array"]
        if render_mode is not None and render_mode not in modes:
            raise ConfigError(
                f"render_mode is {render_mode!r}; with the cameras given it may be {' or '.join([*modes, 'None'])}.",
                remedy='give `cameras` and render_mode="rgb_array", or leave it out',
            )
        self.metadata = {"render_modes": modes, "render_fps": round(1.0 / ground.arena.task.control_period_s)}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Obs, dict[str, Any]]:
        """Begin an episode; `options` may give values of the task's initial conditions by name."""
        super().reset(seed=seed)
        self.ground.rng = self.np_random
        given = {name: np.array([float(value)]) for name, value in (options or {}).items()}
        self.ground.reset(np.zeros(1, dtype=np.int64), given)
        return self._observation(self.ground.values()), {}

    def step(self, action: np.ndarray) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        """One control period."""
        trial = _Trial(self.ground, np.asarray(action, dtype=np.float64)[None])
        infos = {name: bool(rows[0]) for name, rows in trial.infos(self.ground).items()}
        ended = bool(trial.terminated[0]), bool(trial.truncated[0])
        return self._observation(trial.values), float(trial.rewards[0]), *ended, infos

    def render(self) -> Any:
        """The first camera's newest frame."""
        cameras = self.ground.cameras
        if cameras is None:
            raise ConfigError("The environment has no cameras.", remedy="give `cameras` when making it")
        return next(iter(_images(self.ground, _FIRST).values()))[0]

    def _observation(self, values: dict[str, np.ndarray]) -> Obs:
        now = state(self.ground, values)[0]
        if self.ground.cameras is None:
            return now
        return {"state": now, **{name: frames[0] for name, frames in _images(self.ground, _FIRST).items()}}


class TwinVectorEnv(gym.vector.VectorEnv[Any, np.ndarray, np.ndarray]):
    """Many simulations, stepped together."""

    def __init__(self, ground: Playground) -> None:
        ground.arena.check_criteria()
        self.ground = ground
        self.num_envs = ground.count
        self.single_action_space = action_space(ground.arena)
        self.single_observation_space = observation_space(ground.arena, ground.cameras)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.metadata = {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Obs, dict[str, Any]]:
        """Begin episodes in all simulations, or in those of `options["reset_mask"]`."""
        super().reset(seed=seed if not isinstance(seed, list) else seed[0])
        self.ground.rng = self.np_random
        options = dict(options or {})
        mask = options.pop("reset_mask", np.ones(self.num_envs, dtype=bool))
        rows = np.flatnonzero(mask)
        given = {name: np.broadcast_to(np.asarray(v, float), (len(rows),)) for name, v in options.items()}
        self.ground.reset(rows, given)
        return self._observation(self.ground.values()), {}

    def step(self, actions: np.ndarray) -> tuple[Obs, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One control period of all; what an episode that ended showed last is in `infos["final_obs"]`."""
        trial = _Trial(self.ground, actions)
        infos: dict[str, Any] = dict(trial.infos(self.ground))
        seen, ended = self._observation(trial.values), np.flatnonzero(trial.terminated | trial.truncated)
        if len(ended):
            infos["final_obs"] = seen
            infos["_final_obs"] = trial.terminated | trial.truncated
            self.ground.reset(ended)
            seen = self._begun_anew(seen, ended)
        return seen, trial.rewards, trial.terminated, trial.truncated, infos

    def _observation(self, values: dict[str, np.ndarray]) -> Obs:
        now = state(self.ground, values)
        if self.ground.cameras is None:
            return now
        return {"state": now, **_images(self.ground, np.arange(self.num_envs))}

    def _begun_anew(self, seen: Obs, rows: Int[np.ndarray, " row"]) -> Obs:
        """An observation in which some simulations have begun a new episode; the images of the others stay."""
        now = state(self.ground, self.ground.values())
        if self.ground.cameras is None:
            return now
        images = {name: frames.copy() for name, frames in seen.items() if name != "state"}
        for name, frames in _images(self.ground, rows).items():
            images[name][rows] = frames
        return {"state": now, **images}


def _images(ground: Playground, rows: Int[np.ndarray, " row"]) -> dict[str, UInt8[np.ndarray, "row _ _ 3"]]:
    assert ground.cameras is not None
    return ground.cameras.images(rows, ground.randomisation, ground.rng)
