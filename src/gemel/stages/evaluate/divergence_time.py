"""For how long a twin follows the record: until an object is off by more than a distance or an angle."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class FollowTime:
    """How long one episode was followed."""

    since_start_s: float
    """From the first frame of the record [s]."""
    since_motion_s: float
    """From the moment the object first moves in the record [s]: before it there is nothing to follow."""
    is_censored: bool
    """Whether the record ended first: the twin would have followed longer than this."""


def follow_time(
    times_s: Float[np.ndarray, " t"],
    position_m: Float[np.ndarray, " t"],
    rotation_rad: Float[np.ndarray, " t"],
    *,
    within_m: float,
    within_rad: float,
    motion_s: float,
) -> FollowTime:
    """Until the first frame that is off by more than either bound; `motion_s` is when the object first moves."""
    off = np.flatnonzero((position_m > within_m) | (rotation_rad > within_rad))
    end_s = float(times_s[off[0]] if len(off) else times_s[-1])
    return FollowTime(end_s - float(times_s[0]), max(0.0, end_s - motion_s), not len(off))
