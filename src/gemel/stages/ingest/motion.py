"""How far two streams are shifted in time, read off the motion that both show.

A camera's image changes when the robot moves, and the robot moves when it is commanded; the shift at which the
two agree best is the offset between their clocks, or the lag of the actuator. Each window of the log gives one
agreement curve over shifts; curves are averaged and the spread over windows gives the uncertainty.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_SHIFTS_PER_PERIOD = 20
_MIN_AGREEMENT = 0.5
"""Below this mean correlation the streams do not show the same motion and no shift is reported."""
_MIN_VARIATION = 0.25
"""Coefficient of variation that a speed needs to carry timing information."""


@dataclass(frozen=True)
class Shift:
    """The time shift between two streams."""

    seconds: float
    sigma_s: float
    """Standard error from leaving out one window at a time [s]; NaN with one window."""
    agreement: float
    """Mean correlation at the best shift."""
    window_count: int


@dataclass(frozen=True, eq=False)
class Curve:
    """Agreement of one window over candidate shifts."""

    shifts_s: Float[np.ndarray, " shift"]
    agreement: Float[np.ndarray, " shift"]


def joint_speed(
    times_s: Float[np.ndarray, " t"], state: Float[np.ndarray, "t joint"], scale: Float[np.ndarray, " joint"]
) -> tuple[Float[np.ndarray, " interval"], Float[np.ndarray, " interval"]]:
    """Middle of each step [s] and the speed over it, joints weighed by `scale` (their range in the log)."""
    steps = np.diff(times_s)
    steps = np.where(steps > 0, steps, np.nan)
    moved = np.linalg.norm(np.diff(state, axis=0) / np.where(scale > 0, scale, np.inf), axis=1)
    return 0.5 * (times_s[1:] + times_s[:-1]), np.nan_to_num(moved / steps)


def agreement_curve(
    reference_times_s: Float[np.ndarray, " n"],
    reference: Float[np.ndarray, " n"],
    times_s: Float[np.ndarray, " m"],
    values: Float[np.ndarray, " m"],
    *,
    period_s: float,
    max_shift_s: float,
) -> Curve | None:
    """Correlation of `values(t)` with `reference(t + shift)` for every shift; None if either carries no timing."""
    if len(values) < 8 or _variation(reference) < _MIN_VARIATION or _variation(values) < _MIN_VARIATION:
        return None
    count = int(np.ceil(max_shift_s / period_s * _SHIFTS_PER_PERIOD))
    shifts = np.arange(-count, count + 1) * (period_s / _SHIFTS_PER_PERIOD)
    # Only samples whose shifted time stays inside the reference are compared, the same ones for every shift.
    inside = (times_s >= reference_times_s[0] + max_shift_s) & (times_s <= reference_times_s[-1] - max_shift_s)
    if inside.sum() < 8:
        return None
    looked_up = np.interp(times_s[inside][None, :] + shifts[:, None], reference_times_s, reference)
    return Curve(shifts, _correlation(looked_up, values[inside]))


def combine_curves(curves: list[Curve]) -> Shift | None:
    """The shift at which all windows together agree best; None where they do not agree, or only at the edge."""
    if not curves:
        return None
    stack = np.stack([curve.agreement for curve in curves])
    shifts = curves[0].shifts_s
    best = _peak(shifts, stack.mean(axis=0))
    if best is None or best[1] < _MIN_AGREEMENT:
        return None
    sigma = float("nan")
    if len(curves) > 1:
        without = [_peak(shifts, np.delete(stack, i, axis=0).mean(axis=0)) for i in range(len(curves))]
        seconds = np.array([peak[0] for peak in without if peak is not None])
        n = len(seconds)
        sigma = float(np.sqrt((n - 1) / n * np.sum((seconds - seconds.mean()) ** 2))) if n > 1 else sigma
    return Shift(best[0], sigma, best[1], len(curves))


def _peak(shifts: np.ndarray, agreement: np.ndarray) -> tuple[float, float] | None:
    """Place and height of the highest point, refined by a parabola; None at the edge of the range."""
    i = int(np.argmax(agreement))
    if i in (0, len(shifts) - 1):
        return None
    left, middle, right = agreement[i - 1 : i + 2]
    bend = left - 2.0 * middle + right
    part = 0.0 if bend >= 0 else 0.5 * (left - right) / bend
    return float(shifts[i] + part * (shifts[1] - shifts[0])), float(middle)


def _variation(values: np.ndarray) -> float:
    mean = float(np.mean(np.abs(values)))
    return float(np.std(values)) / mean if mean > 0 else 0.0


def _correlation(rows: Float[np.ndarray, "shift m"], values: Float[np.ndarray, " m"]) -> Float[np.ndarray, " shift"]:
    rows = rows - rows.mean(axis=1, keepdims=True)
    values = values - values.mean()
    norm = np.linalg.norm(rows, axis=1) * np.linalg.norm(values)
    return (rows @ values) / np.where(norm > 0, norm, np.inf)
