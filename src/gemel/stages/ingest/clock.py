"""How regular a log's time stamps are: rate, jitter, gaps, duplicates, steps back."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gemel.artifacts.capture import ClockReport

GAP_FACTOR = 1.5
"""A step longer than this many medians has lost samples."""
DUPLICATE_FACTOR = 0.1
"""A step shorter than this many medians repeats a sample."""


@dataclass(frozen=True, eq=False)
class EpisodeClock:
    """The steps of one episode's time stamps."""

    count: int
    period_s: float
    """Median step [s]; NaN with fewer than two samples."""
    jitter_s: float
    gaps: Int[np.ndarray, " gap"]
    """Indices of the sample before each gap."""
    missing_count: int
    duplicates: Int[np.ndarray, " duplicate"]
    backwards: Int[np.ndarray, " backward"]


def episode_clock(times_s: Float[np.ndarray, " t"]) -> EpisodeClock:
    """Look at one episode's time stamps."""
    steps = np.diff(times_s[np.isfinite(times_s)])
    forward = steps[steps > 0]
    nothing = np.zeros(0, dtype=np.int64)
    if not forward.size:
        repeats, backwards = np.flatnonzero(steps == 0), np.flatnonzero(steps < 0)
        return EpisodeClock(len(times_s), float("nan"), float("nan"), nothing, 0, repeats, backwards)
    period = float(np.median(forward))
    gaps = np.flatnonzero(steps > GAP_FACTOR * period)
    return EpisodeClock(
        count=len(times_s),
        period_s=period,
        jitter_s=float(1.4826 * np.median(np.abs(forward - period))),
        gaps=gaps,
        missing_count=int(np.sum(np.round(steps[gaps] / period) - 1)),
        duplicates=np.flatnonzero((steps >= 0) & (steps < DUPLICATE_FACTOR * period)),
        backwards=np.flatnonzero(steps < 0),
    )


def clock_report(clocks: Iterable[EpisodeClock]) -> ClockReport:
    """All episodes together; rate and jitter are medians over episodes, so memory does not grow with steps."""
    clocks = list(clocks)
    periods = np.array([c.period_s for c in clocks if np.isfinite(c.period_s)])
    jitters = np.array([c.jitter_s for c in clocks if np.isfinite(c.jitter_s)])
    return ClockReport(
        rate_hz=float(1.0 / np.median(periods)) if periods.size else 0.0,
        jitter_s=float(np.median(jitters)) if jitters.size else 0.0,
        gap_count=sum(len(c.gaps) for c in clocks),
        missing_count=sum(c.missing_count for c in clocks),
        duplicate_count=sum(len(c.duplicates) for c in clocks),
        backward_count=sum(len(c.backwards) for c in clocks),
    )
