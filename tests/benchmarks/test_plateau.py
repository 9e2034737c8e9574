"""When a fit of `gemel bench views` is done: by its training losses alone, and never past its cap."""

import numpy as np
import pytest

from gemel.benchmarks.plateau import FRACTIONS, ROUNDS, Plateau, window_gain
from stages.reconstruct.made_views import blank_views


def _run(plateau: Plateau, loss_at: object, *, view_count: int = 3) -> tuple[list[float], list[float]]:
    """Losses and fractions of a fit whose loss is a function of its step."""
    losses: list[float] = []
    fractions = []
    for turn in plateau.turns(blank_views(view_count), losses, np.random.default_rng(0), device="cpu"):
        fractions.append(turn.fraction)
        losses.append(loss_at(len(losses)))  # type: ignore[operator]
    return losses, fractions


def test_a_fit_that_gains_nothing_ends_after_two_windows_of_each_size_of_step() -> None:
    """A constant loss goes through all step sizes, with two windows each to compare."""
    plateau = Plateau((3, 3), 10_000)
    losses, fractions = _run(plateau, lambda step: 1.0)
    assert plateau.is_reached
    assert plateau.last_gain == 0.0
    assert len(losses) == 6 + len(FRACTIONS) * 2 * ROUNDS * 3
    assert list(dict.fromkeys(fractions)) == list(FRACTIONS)


def test_a_fit_that_still_gains_runs_into_its_cap_and_says_so() -> None:
    """A loss that halves every hundred steps never reaches a plateau."""
    plateau = Plateau((), 600)
    losses, fractions = _run(plateau, lambda step: 0.5 ** (step / 100.0))
    assert not plateau.is_reached
    assert plateau.last_gain > 0.1
    window = ROUNDS * 3
    assert [fractions.count(fraction) for fraction in FRACTIONS] == [200 // window * window] * 3
    assert len(losses) <= 600


def test_gain_is_the_part_by_which_the_mean_fell() -> None:
    """From a mean of 2 to one of 1.5 is a gain of a quarter; older losses do not count."""
    assert window_gain([9.0, 1.0, 3.0, 1.0, 2.0], 2) == pytest.approx(0.25)
