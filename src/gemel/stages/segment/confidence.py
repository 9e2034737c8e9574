"""How far each mask can be relied on: the segmenter's own word, and agreement with the masks before and after it."""

import numpy as np
from jaxtyping import Float

from gemel.stages.segment.guess import Guess

_NEIGHBOURS = 2
_AREA_FOLD = 1.7
"""An area this many times that of its neighbours (or one over it) in the next frame costs a factor e of confidence."""
_JUMP = 0.08
"""A centre this part of the image's width away from where its neighbours put it in the next frame costs a factor e."""


def with_neighbours(guesses: list[Guess], steps: list[int]) -> Float[np.ndarray, " frame"]:
    """Confidence of the masks of one camera in one episode, given in order of time."""
    area = np.array([g.mask.sum() for g in guesses], dtype=np.float64)
    centre = np.array([_centre(g) for g in guesses]).reshape(-1, 2)
    width = guesses[0].mask.shape[1] if guesses else 1
    own = np.array([g.confidence for g in guesses])
    agreed = np.ones(len(guesses))
    for i in range(len(guesses)):
        near = [j for j in range(i - _NEIGHBOURS, i + _NEIGHBOURS + 1) if 0 <= j < len(guesses) and j != i]
        seen = [j for j in near if area[j] > 0]
        if not near or (area[i] == 0 and len(seen) <= len(near) / 2):
            continue
        if area[i] == 0 or not seen:
            agreed[i] = 0.2 if area[i] == 0 and not _leaves(guesses, near) else 1.0
            continue
        gap = min(abs(steps[j] - steps[i]) for j in seen)  # the farther apart, the more may change
        fold = abs(np.log(area[i] / np.median(area[seen]))) / (gap * np.log(_AREA_FOLD))
        between = np.array([np.interp(steps[i], np.array(steps)[seen], centre[seen, k]) for k in (0, 1)])
        jump = float(np.linalg.norm(centre[i] - between)) / (gap * _JUMP * width)
        agreed[i] = np.exp(-max(fold - 0.5, 0.0) - max(jump - 0.5, 0.0))
    return own * agreed


def _leaves(guesses: list[Guess], places: list[int]) -> bool:
    """Whether the masks at these places touch the image's border: the object may have left the view between them."""
    return any(m[0].any() or m[-1].any() or m[:, 0].any() or m[:, -1].any() for m in (guesses[j].mask for j in places))


def _centre(guess: Guess) -> tuple[float, float]:
    rows, columns = np.nonzero(guess.mask)
    return (float(columns.mean()), float(rows.mean())) if len(rows) else (0.0, 0.0)
