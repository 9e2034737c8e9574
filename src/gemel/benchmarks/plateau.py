"""When a fit is done: what it minimises on its own training views no longer falls.

Withheld views have no say. Losses are averaged over windows of whole rounds through the training views, so windows are
comparable. When a window gains less than `LEAST_GAIN` on the one before, the steps shrink; when the smallest steps gain
no more either, the fit is done. A cap on the steps, in equal parts for each size of step, bounds the time; whoever runs
into it with the smallest steps says so.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gemel.stages.reconstruct.schedule import Turn, turns
from gemel.stages.reconstruct.targets import make_targets
from gemel.stages.reconstruct.views import Views

ROUNDS = 10
"""Rounds through all training views that usually make a window."""
LEAST_GAIN = 0.01
"""A window that lowers the mean loss by less than this part of it gains nothing."""
FRACTIONS = (0.0, 0.5, 1.0)
"""How far steps have shrunk on the way to the smallest (`Turn.slowness`), one after the other."""


@dataclass
class Plateau:
    """Order of a fit: coarse images for a fixed number of steps, then full ones until nothing is gained."""

    coarse_steps: tuple[int, ...]
    """Steps at the coarser sizes, the coarsest first."""
    most_steps: int
    """Cap on the steps at full size."""
    on_window: Callable[[int, float], None] = lambda steps, loss: None
    """Told the steps so far and the mean loss of every window at full size."""
    rounds: int = ROUNDS
    """Rounds that make a window."""
    is_reached: bool = field(default=False, init=False)
    """Whether the last fit's smallest steps ended because nothing was gained, not at the cap."""
    last_gain: float = field(default=float("nan"), init=False)
    """Part of the loss that the last window gained on the one before."""

    def turns(self, views: Views, losses: list[float], rng: np.random.Generator, *, device: str) -> Iterator[Turn]:
        """Turns of one fit, which appends the loss of each to `losses`."""
        self.is_reached, self.last_gain = False, float("nan")
        for turn in turns(views, (*self.coarse_steps, 0), rng, device=device):
            yield Turn(turn.view, turn.target, turn.size, FRACTIONS[0])
        targets, window = make_targets(views, device=device), self.rounds * len(views)
        for fraction in FRACTIONS:
            self.is_reached, begun = False, len(losses)
            while not self.is_reached and len(losses) - begun + window <= self.most_steps // len(FRACTIONS):
                for _ in range(self.rounds):
                    for view in rng.permutation(len(views)):
                        yield Turn(int(view), targets[view], 1.0, fraction)
                self.on_window(len(losses), float(np.mean(losses[-window:])))
                if len(losses) - begun >= 2 * window:
                    self.last_gain = window_gain(losses, window)
                    self.is_reached = self.last_gain < LEAST_GAIN


def window_gain(losses: Sequence[float], window: int) -> float:
    """Part by which the mean of the last `window` losses is below that of as many before them."""
    before, after = np.mean(losses[-2 * window : -window]), np.mean(losses[-window:])
    return float(1.0 - after / before)
