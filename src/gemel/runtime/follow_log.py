"""A logged episode handed to a live twin, observation by observation, as if it happened now."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.episode import Frames
from gemel.artifacts.track import Track
from gemel.geometry.se3 import stack
from gemel.runtime.live_twin import LiveState, LiveTwin
from gemel.services.policy.robot import Observation
from gemel.services.tracking.evidence import about_world


@dataclass(frozen=True, eq=False)
class Followed:
    """One episode as a live twin saw it."""

    episode: str
    times_s: Float[np.ndarray, " t"]
    states: tuple[LiveState, ...]
    """One for each time."""

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the objects that were followed."""
        return tuple(self.states[0].poses)

    def track(self, name: str) -> Track:
        """The told poses of an object; nothing is known about their errors where it is lost."""
        return Track(
            episode=self.episode,
            object=name,
            times_s=self.times_s,
            Ts_world_object=stack([state.poses[name] for state in self.states]),
            covariances=np.stack([_covariance(state, name) for state in self.states]),
            is_lost=np.array([name in state.lost for state in self.states]),
        )


def _covariance(state: LiveState, name: str) -> Float[np.ndarray, "6 6"]:
    """Of the left perturbation, as tracks have it; infinite where it is unknown."""
    if name not in state.covariances:
        return np.diag(np.full(6, np.inf))
    A = about_world(state.poses[name].translation)
    return np.asarray(A @ state.covariances[name] @ A.T)


def follow_log(
    live: LiveTwin, episode_id: str, frames: Frames, on_progress: Callable[[float], None] = lambda part: None
) -> Followed:
    """All of an episode, frames decoded in the order in which they came."""
    episode = frames.episode(episode_id)
    steps = range(len(episode.times_s))
    videos = {name: frames.images(episode_id, name, steps) for name in live.camera_names}
    states = []
    for step in steps:
        images = {name: next(video) for name, video in videos.items()}
        states.append(live.update(Observation(float(episode.times_s[step]), episode.joint_positions[step], images)))
        on_progress((step + 1) / len(steps))
    return Followed(episode_id, episode.times_s, tuple(states))
