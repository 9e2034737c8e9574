"""A twin as a Gymnasium environment, one simulation; this file is about gymnasium, so it imports it.

State observations are the task's quantities in its order; with cameras an observation is a dictionary with `state` and
one image for each camera. An episode ends with success, with failure (a broken simulation is one), or with the task's
time.
"""

# mypy: disallow-subclassing-any=false

from typing import Any

import gymnasium as gym  # noqa: TID253
import numpy as np

from gemel.services.policy.playground import Playground
from gemel.services.policy.starts import checked_starts
from gemel.services.policy.twin_trial import (
    FLAGS,
    Obs,
    Trial,
    action_space,
    first_frames,
    metadata,
    observation_space,
    observed_images,
    observed_state,
)

_FIRST = np.zeros(1, dtype=np.int64)


class TwinEnv(gym.Env[Any, np.ndarray]):
    """One simulation. Its generator is the playground's until a `reset` brings another seed."""

    def __init__(self, ground: Playground, *, render_mode: str | None = None) -> None:
        ground.arena.check_criteria()
        self.metadata = metadata(ground, render_mode)
        self.ground, self.render_mode = ground, render_mode
        self.action_space = action_space(ground.arena)
        self.observation_space = observation_space(ground.arena, ground.cameras)
        self.np_random = ground.rng
        self._images: dict[str, np.ndarray] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Obs, dict[str, Any]]:
        """Begin an episode; `options` may give values of the task's initial conditions by name."""
        given = checked_starts(options or {}, 1)
        super().reset(seed=seed)
        self.ground.rng = self.np_random
        self.ground.reset(_FIRST, given)
        return self._observation(), dict.fromkeys(FLAGS, False)

    def step(self, action: np.ndarray) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        """One control period."""
        trial = Trial(self.ground, np.asarray(action, dtype=np.float64)[None])
        infos = {name: bool(rows[0]) for name, rows in trial.flags.items()}
        ended = bool(trial.terminated[0]), bool(trial.truncated[0])
        return self._observation(), float(trial.rewards[0]), *ended, infos

    def render(self) -> Any:
        """The first camera's frame of the last observation."""
        return first_frames(self.ground, self._images)[0].copy()

    def _observation(self) -> Obs:
        now = observed_state(self.ground)[0]
        self._images = observed_images(self.ground, _FIRST)
        if not self._images:
            return now
        return {"state": now, **{name: frames[0].copy() for name, frames in self._images.items()}}
