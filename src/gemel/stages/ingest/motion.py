"""How far two streams are shifted in time, read off the motion that both show.

A camera's image changes when the robot moves, and the robot moves when it is commanded. For every candidate shift
the one stream is explained linearly by the other (`values(t) ≈ reference(t + shift) · weights`), and the shift with
the largest explained part wins. The weights are fitted, so joints that a camera does not see do not count. Windows
of the log enter as sums of products, so leaving each out in turn gives the uncertainty at no further cost.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_SHIFTS_PER_PERIOD = 20
_MIN_EXPLAINED = 0.3
"""Below this explained part the streams do not show the same motion and no shift is reported."""
_MIN_VARIATION = 0.25
"""Coefficient of variation that the values need to carry timing information."""
_RIDGE = 1e-6


@dataclass(frozen=True)
class Shift:
    """The time shift between two streams."""

    seconds: float
    sigma_s: float
    """Standard error from leaving out one window at a time [s]; NaN with one window."""
    explained: float
    """Explained part of the variance at the best shift, 0 to 1."""
    window_count: int


@dataclass(frozen=True, eq=False)
class Window:
    """Sums of products of one stretch of the log, for every candidate shift; sums over windows are windows too."""

    shifts_s: Float[np.ndarray, " shift"]
    gram: Float[np.ndarray, "shift r r"]
    cross: Float[np.ndarray, "shift r v"]
    total: float


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
    if inside.sum() < 8 or _variation(values[inside]) < _MIN_VARIATION:
        return None
    at = times_s[inside][None, :] + shifts[:, None]
    looked_up = np.stack([np.interp(at, reference_times_s, column) for column in reference.T], axis=-1)
    x = looked_up - looked_up.mean(axis=1, keepdims=True)
    y = values[inside] - values[inside].mean(axis=0)
    return Window(shifts, np.einsum("smr,smq->srq", x, x), np.einsum("smr,mv->srv", x, y), float((y**2).sum()))


def combine(windows: list[Window]) -> Shift | None:
    """The shift that explains all windows together best; None where nothing does, or only the edge of the range."""
    if not windows:
        return None
    best = _peak(windows)
    if best is None or best[1] < _MIN_EXPLAINED:
        return None
    sigma = float("nan")
    if len(windows) > 1:
        without = [_peak([*windows[:i], *windows[i + 1 :]]) for i in range(len(windows))]
        seconds = np.array([peak[0] for peak in without if peak is not None])
        n = len(seconds)
        sigma = float(np.sqrt((n - 1) / n * np.sum((seconds - seconds.mean()) ** 2))) if n > 1 else sigma
    return Shift(best[0], sigma, best[1], len(windows))


def _peak(windows: list[Window]) -> tuple[float, float] | None:
    """Place and height of the largest explained part, refined by a parabola; None at the edge of the range."""
    shifts = windows[0].shifts_s
    explained = _explained(windows)
    i = int(np.argmax(explained))
    if i in (0, len(shifts) - 1):
        return None
    left, middle, right = explained[i - 1 : i + 2]
    bend = left - 2.0 * middle + right
    part = 0.0 if bend >= 0 else 0.5 * (left - right) / bend
    return float(shifts[i] + part * (shifts[1] - shifts[0])), float(middle)


def _explained(windows: list[Window]) -> Float[np.ndarray, " shift"]:
    gram = np.sum([w.gram for w in windows], axis=0)
    cross = np.sum([w.cross for w in windows], axis=0)
    size = np.trace(gram, axis1=1, axis2=2)[:, None, None] * _RIDGE + 1e-12
    weights = np.linalg.solve(gram + size * np.eye(gram.shape[1]), cross)
    explained: Float[np.ndarray, " shift"] = np.einsum("srv,srv->s", weights, cross)
    return explained / max(sum(w.total for w in windows), 1e-12)


def _variation(values: Float[np.ndarray, "m v"]) -> float:
    size = float(np.mean(np.abs(values)))
    return float(np.std(values)) / size if size > 0 else 0.0
