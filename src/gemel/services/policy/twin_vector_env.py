"""A twin as a vector of Gymnasium environments, stepped together; this file is about gymnasium, so it imports it.

Observations are those of the single environment, one row for each simulation. An episode that ends begins anew in the
same step, as `AutoresetMode.SAME_STEP` says and `SyncVectorEnv` does it: `infos["final_obs"]` and `infos["final_info"]`
have what it showed last, all else belongs to the new episode.
"""

# mypy: disallow-subclassing-any=false

from collections.abc import Sequence
from typing import Any

import gymnasium as gym  # noqa: TID253
import numpy as np
from gymnasium.vector.utils import batch_space  # noqa: TID253
from jaxtyping import Bool, Int

from gemel.errors import ConfigError
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

_MASK = "reset_mask"


class TwinVectorEnv(gym.vector.VectorEnv[Any, np.ndarray, np.ndarray]):
    """Many simulations with one generator, which is the playground's until a `reset` brings other seeds."""

    def __init__(self, ground: Playground, *, render_mode: str | None = None) -> None:
        ground.arena.check_criteria()
        self.metadata = {**metadata(ground, render_mode), "autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
        self.ground, self.render_mode = ground, render_mode
        self.num_envs = ground.count
        self.single_action_space = action_space(ground.arena)
        self.single_observation_space = observation_space(ground.arena, ground.cameras)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.np_random = ground.rng
        self._images: dict[str, np.ndarray] = {}

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Obs, dict[str, Any]]:
        """Begin episodes in all simulations, or in those of `options["reset_mask"]`.

        The other options are values of the task's initial conditions by name, one for all or one for each simulation
        that begins. Seeds in a list, one for each simulation, seed the one generator together.
        """
        asked = dict(options or {})
        rows = np.flatnonzero(self._checked_mask(asked.pop(_MASK, np.ones(self.num_envs, dtype=bool))))
        given = checked_starts(asked, len(rows))
        self._seed(seed)
        self.ground.reset(rows, given)
        self._images = observed_images(self.ground, np.arange(self.num_envs))
        begun = np.isin(np.arange(self.num_envs), rows)
        return self._observation(), _masked({name: np.zeros(self.num_envs, dtype=bool) for name in FLAGS}, begun)

    def step(self, actions: np.ndarray) -> tuple[Obs, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One control period of all."""
        trial = Trial(self.ground, actions)
        self._images = observed_images(self.ground, np.arange(self.num_envs))
        seen, ended = self._observation(), trial.terminated | trial.truncated
        everywhere = np.ones(self.num_envs, dtype=bool)
        infos = _masked({name: flags & ~ended for name, flags in trial.flags.items()}, everywhere)
        if ended.any():
            infos |= _masked({"final_obs": self._kept(seen, ended)}, ended)
            infos |= _masked({"final_info": _masked({n: f & ended for n, f in trial.flags.items()}, ended)}, ended)
            self._begin_anew(np.flatnonzero(ended))
            seen = self._observation()
        return seen, trial.rewards, trial.terminated, trial.truncated, infos

    def render(self) -> tuple[Any, ...]:
        """The first camera's frames of the last observation, one for each simulation."""
        return tuple(frame.copy() for frame in first_frames(self.ground, self._images))

    def _begin_anew(self, rows: Int[np.ndarray, " row"]) -> None:
        """New episodes in some simulations; the images of the others stay."""
        self.ground.reset(rows)
        for name, frames in observed_images(self.ground, rows).items():
            self._images[name][rows] = frames

    def _observation(self) -> Obs:
        now = observed_state(self.ground)
        if not self._images:
            return now
        return {"state": now, **{name: frames.copy() for name, frames in self._images.items()}}

    def _kept(self, seen: Obs, ended: Bool[np.ndarray, " sim"]) -> np.ndarray:
        """Observations of episodes that ended, each by itself, None for the others."""
        kept = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended):
            is_plain = isinstance(seen, np.ndarray)
            kept[row] = seen[row] if is_plain else {name: values[row] for name, values in seen.items()}
        return kept

    def _seed(self, seed: int | Sequence[int | None] | None) -> None:
        if seed is None or isinstance(seed, int | np.integer):
            super().reset(seed=None if seed is None else int(seed))
        elif len(seed) != self.num_envs or not all(isinstance(s, int | np.integer) and s >= 0 for s in seed):
            raise ConfigError(
                f"The seeds are {list(seed)!r}; {self.num_envs} whole numbers from 0 on were expected.",
                remedy="give one for each simulation, or a single one",
            )
        else:
            self.np_random = np.random.default_rng(np.random.SeedSequence([int(s) for s in seed if s is not None]))
        self.ground.rng = self.np_random

    def _checked_mask(self, mask: Any) -> Bool[np.ndarray, " sim"]:
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise ConfigError(
                f"{_MASK} is {mask.dtype} of shape {mask.shape} with {np.count_nonzero(mask)} entries set; "
                f"{self.num_envs} booleans, at least one of them true, were expected.",
                remedy="say of each simulation whether it begins anew",
            )
        return mask


def _masked(rows: dict[str, Any], has: Bool[np.ndarray, " sim"]) -> dict[str, Any]:
    """Infos in gymnasium's form: beside each entry, which simulations it is about."""
    return rows | {f"_{name}": has.copy() for name in rows}
