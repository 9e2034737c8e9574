"""How late an arm follows its commands, from trials: the shift at which commanded and measured tips agree best."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gemel.artifacts.episode import Episode
from gemel.services.policy.control import LEASH_M, Arm

_LONGEST_S = 0.4
_STEP_S = 0.005
_FEWEST = 20


def command_delay_s(
    arm: Arm, episodes: Sequence[Episode], columns: Sequence[int], *, period_s: float, largest_m: float
) -> float:
    """Delay [s] of tips behind targets that are reached in a straight line over each period; 0 without trials.

    `columns` are the measured joints of the arm among the episodes' joints. Actions are displacements of the tip.
    """
    shifts = np.arange(0.0, _LONGEST_S, _STEP_S)
    squared, count = np.zeros(len(shifts)), 0
    for episode in episodes:
        if episode.actions.shape[1] != 2 or len(episode.times_s) < 3:
            continue
        tips = arm.tips(episode.joint_positions[:, columns])
        targets = _targets(tips, episode.actions, largest_m)
        times_s = np.concatenate([episode.times_s[:1], episode.times_s + period_s])
        for i, shift in enumerate(shifts):
            expected = [np.interp(episode.times_s - shift, times_s, targets[:, axis]) for axis in (0, 1)]
            squared[i] += float(np.sum((np.stack(expected, axis=1) - tips) ** 2))
        count += len(tips)
    return float(shifts[np.argmin(squared)]) if count >= _FEWEST else 0.0


def _targets(
    tips: Float[np.ndarray, "t 2"], actions: Float[np.ndarray, "t 2"], largest_m: float
) -> Float[np.ndarray, "t1 2"]:
    """Where the controller sends the tip, the start first."""
    targets = [tips[0]]
    for tip, action in zip(tips, np.clip(actions, -largest_m, largest_m), strict=True):
        ahead = targets[-1] + action - tip
        length = max(float(np.linalg.norm(ahead)), 1e-9)
        targets.append(tip + ahead * min(1.0, LEASH_M / length))
    return np.array(targets)
