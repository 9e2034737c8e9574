"""Object poses over time, from pixels or from motion capture."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.errors import ConfigError
from gemel.geometry import SE3


@dataclass(frozen=True, eq=False)
class Track:
    """One object's poses through one episode."""

    episode: str
    object: str
    times_s: Float[np.ndarray, " t"]
    """On the robot's clock, rising; from video the middle of the exposures, just before the log's stamps."""
    Ts_world_object: SE3
    """Batched over t."""
    covariances: Float[np.ndarray, "t 6 6"]
    """Of the left perturbation of each pose: translation [m] first, then rotation [rad]."""
    is_lost: Bool[np.ndarray, " t"]
    """True where the tracker had no support in the images."""

    def __post_init__(self) -> None:
        counts = {len(self.times_s), len(self.covariances), len(self.is_lost), *self.Ts_world_object.batch_shape[:1]}
        if counts != {len(self.times_s)} or not np.all(np.diff(self.times_s) > 0.0):
            raise ConfigError(
                f"The track of {self.object!r} in episode {self.episode!r} has {len(self.times_s)} times, "
                f"{self.Ts_world_object.batch_shape} poses and {len(self.is_lost)} flags; one of each for times that "
                "rise was expected.",
                remedy="leave out samples without a pose or with a repeated stamp; gaps in time are allowed",
            )

    @property
    def longest_gap_s(self) -> float:
        """Longest time between two poses that the images or the motion capture support [s]."""
        known = self.times_s[~self.is_lost]
        return float(np.diff(known).max()) if len(known) > 1 else 0.0


@dataclass(frozen=True, eq=False)
class Tracks:
    """All tracks of one capture's calibration and validation episodes."""

    tracks: tuple[Track, ...]
    source: str
    """`video` or `mocap`."""

    def of(self, episode: str, name: str) -> Track | None:
        """The track of an object in an episode, if it was found there."""
        return next((t for t in self.tracks if (t.episode, t.object) == (episode, name)), None)
