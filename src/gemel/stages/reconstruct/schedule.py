"""The order of a fit: from coarse images to full ones, all views before any comes again, with steps that shrink."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gemel.stages.reconstruct.targets import Target, make_targets
from gemel.stages.reconstruct.views import Views

LAST_STEP = 0.1
"""Steps shrink to this part of their first size, by the same factor each time."""


@dataclass(frozen=True)
class Turn:
    """One step of a fit."""

    view: int
    target: Target
    size: float
    """Size of the target's image relative to the full one; intrinsics scale with it."""
    fraction: float
    """Part of the fit that is behind, 0 to 1."""

    @property
    def slowness(self) -> float:
        """What every first step size is multiplied with."""
        return LAST_STEP**self.fraction


def turns(views: Views, counts: Sequence[int], rng: np.random.Generator, *, device: str) -> Iterator[Turn]:
    """Turns of a fit with `counts` steps at each size, the last of them full, each before it twice as coarse."""
    pyramid = [views]
    for _ in counts[1:]:
        pyramid.insert(0, pyramid[0].half_size())
    done = 0
    for level, count in enumerate(counts):
        targets = make_targets(pyramid[level], device=device)
        size = 0.5 ** (len(counts) - 1 - level)
        for view in _order(len(views), count, rng):
            yield Turn(view, targets[view], size, done / sum(counts))
            done += 1


def _order(view_count: int, step_count: int, rng: np.random.Generator) -> list[int]:
    rounds = -(-step_count // view_count)
    return [int(i) for _ in range(rounds) for i in rng.permutation(view_count)][:step_count]
