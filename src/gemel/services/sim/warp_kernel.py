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
def _undelayed(command: float, before: float, past: Any, s: int, c: int, step: int, every: int, is_ramp: int) -> float:
    """The command of one step of this period, or of one before it."""
    if step < 0:
        return past[s, wp.max(past.shape[1] + step, 0), c]
    if is_ramp == 0:
        return command
    return before + (command - before) * float(step + 1) / float(every)


@wp.kernel(enable_backward=False)
def drive(
    commands: wp.array2d(dtype=float),
    past: wp.array3d(dtype=float),
    link: wp.array2d(dtype=float),
    delay: wp.array2d(dtype=float),
    play: wp.array2d(dtype=float),
    lead: wp.array2d(dtype=float),
    every: int,
    is_ramp: int,
    out: wp.array3d(dtype=float),
):
    """What reaches the servos at each of `every` steps; delay and lead in steps, play is half of it."""
    s, c = wp.tid()
    command, depth = commands[s, c], past.shape[1]
    before = past[s, depth - 1, c]
    whole = int(delay[s, c])
    part = delay[s, c] - float(whole)
    y = link[s, c]
    for j in range(every):
        late = _undelayed(command, before, past, s, c, j - whole, every, is_ramp)
        if part > 0.0:
            later = _undelayed(command, before, past, s, c, j - whole - 1, every, is_ramp)
            late = (1.0 - part) * late + part * later
        last = y
        y = wp.min(wp.max(y, late - play[s, c]), late + play[s, c])
        out[j, s, c] = y + lead[s, c] * (y - last)
    link[s, c] = y
    for k in range(depth):  # ascending: what is read lies ahead of what has been written
        past[s, k, c] = _undelayed(command, before, past, s, c, every - depth + k, every, is_ramp)
