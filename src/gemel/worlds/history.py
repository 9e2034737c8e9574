"""Where every body was at every moment of an episode: what the cameras look back at."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3


@dataclass(frozen=True, eq=False)
class History:
    """Poses of all bodies over time, as dense as the physics kept them."""

    body_names: tuple[str, ...]
    times_s: Float[np.ndarray, " tick"]
    poses: Float[np.ndarray, "tick body 7"]
    """`T_world_body` as quaternion wxyz and translation [m]."""

    def at(self, time_s: float) -> Float[np.ndarray, "body 7"]:
        """Poses at a time [s], interpolated between ticks; held before the first and after the last."""
        if len(self.times_s) == 1:
            return self.poses[0]
        after = int(np.clip(np.searchsorted(self.times_s, time_s), 1, len(self.times_s) - 1))
        before = after - 1
        span = self.times_s[after] - self.times_s[before]
        part = float(np.clip((time_s - self.times_s[before]) / span, 0.0, 1.0))
        first, second = self.poses[before], self.poses[after]
        # q and -q are the same rotation: take the nearer one before mixing.
        sign = np.where(np.sum(first[:, :4] * second[:, :4], axis=1) < 0.0, -1.0, 1.0)[:, None]
        mixed = (1.0 - part) * first + part * np.concatenate([sign * second[:, :4], second[:, 4:]], axis=1)
        mixed[:, :4] /= np.linalg.norm(mixed[:, :4], axis=1, keepdims=True)
        return mixed

    def pose(self, body: str, time_s: float) -> SE3:
        """`T_world_body` of one body."""
        return SE3.from_wxyz_xyz(self.at(time_s)[self.body_names.index(body)])

    def with_bodies(self, added: Mapping[str, Float[np.ndarray, "tick 7"]]) -> "History":
        """The same with further bodies."""
        poses = np.concatenate([self.poses, *(rows[:, None, :] for rows in added.values())], axis=1)
        return History((*self.body_names, *added), self.times_s, poses)
