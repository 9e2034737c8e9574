"""How late a robot follows its commands, from trials that are not held out."""

from collections.abc import Sequence

import numpy as np

from gemel.artifacts.episode import Episode
from gemel.services.sim.joint_path import JointPath

_LONGEST_S = 0.4
_STEP_S = 0.005


def command_delay_s(trials: Sequence[tuple[Episode, JointPath]]) -> float | None:
    """The shift [s] at which commanded and logged joint positions agree best; None without trials."""
    if not trials:
        return None
    shifts_s = np.arange(0.0, _LONGEST_S, _STEP_S)
    squares = [
        sum(float(np.sum((path.at(e.times_s - shift_s) - e.joint_positions) ** 2)) for e, path in trials)
        for shift_s in shifts_s
    ]
    return float(shifts_s[int(np.argmin(squares))])
