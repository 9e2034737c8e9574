"""How far two streams are shifted in time, read off the motion that both show.

A camera's image changes when the robot moves, and the robot moves when it is commanded. For every candidate shift
the one stream is explained linearly by the other (`values(t) ≈ reference(t + shift) · weights`), and the shift with
the largest explained part wins. The weights are fitted, so joints that a camera does not see do not count; each
window of the log has its own, because what a camera sees of a joint depends on where the arm and the object are.
Windows count alike, and leaving each out in turn gives the uncertainty.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_SHIFTS_PER_PERIOD = 20
_MIN_EXPLAINED = 0.3
"""Below this explained part the streams do not show the same motion and no shift is reported."""
_MIN_VARIATION = 0.25
"""Coefficient of variation that the values need to carry timing information."""
_SAMPLES_PER_WEIGHT = 2
"""A window with fewer samples than this for each fitted weight explains anything."""
_RIDGE = 1e-6


@dataclass(frozen=True)
class Shift:
    """The time shift between two streams."""

    seconds: float
    sigma_s: float
    """Standard error from leaving out one window at a time [s]; NaN where that gives no answer, as with one window."""
    explained: float
    """Explained part of the variance at the best shift, at most 1; chance alone gives 0."""
    window_count: int


@dataclass(frozen=True, eq=False)
class Window:
    """How well one stretch of the log is explained at every candidate shift."""

    shifts_s: Float[np.ndarray, " shift"]
    explained: Float[np.ndarray, " shift"]
    """Part of the variance, corrected for the number of weights so that chance gives 0."""


def joint_velocity(
    times_s: Float[np.ndarray, " t"], state: Float[np.ndarray, "t joint"], scale: Float[np.ndarray, " joint"]
) -> tuple[Float[np.ndarray, " interval"], Float[np.ndarray, "interval joint"]]:
    """Middle of each step [s] and the joints' velocities over it, in ranges of the log (`scale`) per second."""
    steps = np.diff(times_s)
    moved = np.diff(state, axis=0) / np.where(scale > 0, scale, np.inf)
    return 0.5 * (times_s[1:] + times_s[:-1]), moved / np.where(steps > 0, steps, np.inf)[:, None]


def window(
    reference_times_s: Float[np.ndarray, " n"],
    reference: Float[np.ndarray, "n r"],
    times_s: Float[np.ndarray, " m"],
    values: Float[np.ndarray, "m v"],
    *,
    period_s: float,
    max_shift_s: float,
) -> Window | None:
    """Compare `values(t)` with `reference(t + shift)` for every shift; None where the values carry no timing."""
    count = round(max_shift_s / period_s * _SHIFTS_PER_PERIOD)
    shifts = np.arange(-count, count + 1) * (period_s / _SHIFTS_PER_PERIOD)
    # Only samples whose shifted time stays inside the reference are compared, the same ones for every shift.
    inside = (times_s >= reference_times_s[0] + max_shift_s) & (times_s <= reference_times_s[-1] - max_shift_s)
    moving = reference[:, reference.std(axis=0) > 0]
    fewest = max(8, _SAMPLES_PER_WEIGHT * (moving.shape[1] + 1))
    if inside.sum() < fewest or not moving.size or _variation(values[inside]) < _MIN_VARIATION:
        return None
    at = times_s[inside][None, :] + shifts[:, None]
    return Window(shifts, _explained(_looked_up(at, reference_times_s, moving), values[inside]))


def merged(windows: Sequence[Window]) -> Window:
    """Several streams of one stretch that share a clock, as one window."""
    return Window(windows[0].shifts_s, np.mean([window.explained for window in windows], axis=0))


def combine(windows: Sequence[Window]) -> Shift | None:
    """The shift that explains all windows together best; None where nothing does, or only the edge of the range."""
    best = _peak(windows) if windows else None
    if best is None or best[1] < _MIN_EXPLAINED:
        return None
    without = [_peak([*windows[:i], *windows[i + 1 :]]) for i in range(len(windows))] if len(windows) > 1 else [None]
    seconds = np.array([np.nan if peak is None else peak[0] for peak in without])
    n = len(windows)
    sigma = float(np.sqrt((n - 1) / n * np.sum((seconds - seconds.mean()) ** 2)))
    return Shift(best[0], sigma, best[1], n)


def _peak(windows: Sequence[Window]) -> tuple[float, float] | None:
    """Place and height of the largest explained part, refined by a parabola; None at the edge of the range."""
    whole = merged(windows)
    shifts, explained = whole.shifts_s, whole.explained
    i = int(np.argmax(explained))
    if i in (0, len(shifts) - 1):
        return None
    left, middle, right = explained[i - 1 : i + 2]
    bend = left - 2.0 * middle + right
    part = 0.0 if bend >= 0 else 0.5 * (left - right) / bend
    return float(shifts[i] + part * (shifts[1] - shifts[0])), float(middle)


def _looked_up(
    at: Float[np.ndarray, "shift m"], times_s: Float[np.ndarray, " n"], reference: Float[np.ndarray, "n r"]
) -> Float[np.ndarray, "shift m r"]:
    """The reference at other times, by quadratic B-splines.

    Linear interpolation smooths half-way between samples and nowhere else, and noisy streams agree best with a smooth
    reference: shifts of half a sample would win too often. These splines smooth alike (variance a quarter of a
    squared sample) wherever they are read.
    """
    padded = np.pad(reference, ((1, 1), (0, 0)), mode="edge")
    smooth = 0.25 * padded[:-2] + 0.5 * reference + 0.25 * padded[2:]
    between = np.interp(at, times_s, np.arange(len(times_s))) % 1.0
    part = (0.5 - 2.0 * between * (1.0 - between))[..., None]
    plain, smoothed = (
        np.stack([np.interp(at, times_s, column) for column in stream.T], axis=-1) for stream in (reference, smooth)
    )
    return np.asarray((1.0 - part) * plain + part * smoothed)


def _explained(
    reference: Float[np.ndarray, "shift m r"], values: Float[np.ndarray, "m v"]
) -> Float[np.ndarray, " shift"]:
    """Explained part of the values' variance for every shift (adjusted R²)."""
    x = reference - reference.mean(axis=1, keepdims=True)
    y = values - values.mean(axis=0)
    gram, cross = np.einsum("smr,smq->srq", x, x), np.einsum("smr,mv->srv", x, y)
    size = np.trace(gram, axis1=1, axis2=2)[:, None, None] * _RIDGE + 1e-12
    weights = np.linalg.solve(gram + size * np.eye(gram.shape[1]), cross)
    part = np.einsum("srv,srv->s", weights, cross) / max(float((y**2).sum()), 1e-12)
    m, r = x.shape[1:]
    adjusted: Float[np.ndarray, " shift"] = 1.0 - (1.0 - part) * (m - 1) / (m - r - 1)
    return adjusted


def _variation(values: Float[np.ndarray, "m v"]) -> float:
    size = float(np.mean(np.abs(values)))
    return float(np.std(values)) / size if size > 0 else 0.0
