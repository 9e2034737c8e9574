"""Object poses over time, from pixels."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.geometry import SE3


@dataclass(frozen=True, eq=False)
class Track:
    """One object's poses through one episode."""

    episode: str
    object: str
    times_s: Float[np.ndarray, " t"]
    Ts_world_object: SE3
    """Batched over t."""
    covariances: Float[np.ndarray, "t 6 6"]
    """Of the left perturbation of each pose: translation [m] first, then rotation [rad]."""
    is_lost: Bool[np.ndarray, " t"]
    """True where the tracker had no support in the images."""
