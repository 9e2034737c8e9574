"""Kernels of simulations on a device, one thread for each number. All about warp, whose annotations are its own."""

# mypy: ignore-errors

from typing import Any

import warp as wp  # noqa: TID253


@wp.kernel(enable_backward=False)
def scatter(values: wp.array2d(dtype=float), rows: wp.array(dtype=int), out: wp.array2d(dtype=float)):
    """Row i of the values becomes row rows[i]."""
    i, k = wp.tid()
    out[rows[i], k] = values[i, k]


@wp.func
def _undelayed(first: float, rise: float, past: Any, s: int, c: int, step: int) -> float:
    """The command of one step of this period, a straight line, or of one before it."""
    if step < 0:
        return past[s, wp.max(past.shape[1] + step, 0), c]
    return first + rise * float(step)


@wp.kernel(enable_backward=False)
def drive(
    lines: wp.array3d(dtype=float),
    past: wp.array3d(dtype=float),
    link: wp.array2d(dtype=float),
    drives: wp.array3d(dtype=float),
    out: wp.array3d(dtype=float),
):
    """What reaches the servos at each step of `out` (step, sim, control).

    `lines` (sim, control, 2) are the command at the first step and its rise per step; `past` (sim, h, control) are the
    undelayed commands of the steps before, the latest last; `drives` (sim, control, 3) are delay [steps], half the play
    and lead [steps]; `link` (sim, control) is where the play stands. Past and link are left as they are at the end.
    """
    s, c = wp.tid()
    first, rise = lines[s, c, 0], lines[s, c, 1]
    every, depth = out.shape[0], past.shape[1]
    delay, play, lead = drives[s, c, 0], drives[s, c, 1], drives[s, c, 2]
    whole = int(delay)
    part = delay - float(whole)
    y = link[s, c]
    for j in range(every):
        late = _undelayed(first, rise, past, s, c, j - whole)
        if part > 0.0:
            late = (1.0 - part) * late + part * _undelayed(first, rise, past, s, c, j - whole - 1)
        last = y
        y = wp.min(wp.max(y, late - play), late + play)
        out[j, s, c] = y + lead * (y - last)
    link[s, c] = y
    for k in range(depth):  # ascending: what is read lies ahead of what has been written
        past[s, k, c] = _undelayed(first, rise, past, s, c, every - depth + k)
