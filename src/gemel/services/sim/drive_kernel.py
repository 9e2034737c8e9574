"""What drives make of commands: ramp, delay, play and lead, one physics step after the other. All about numba."""

import numba  # noqa: TID253
import numpy as np


@numba.njit(cache=True, nogil=True)
def driven_commands(commands, past, drives, link, every, is_ramp):  # type: ignore[no-untyped-def]
    """Commands that reach the servos at each physics step, (sim, t * every, control), and the new `past`.

    `commands` (sim or 1, t, control) hold for `every` steps each, or are reached in a straight line over them; `past`
    (sim, h, control) are the undelayed commands of the steps before, the latest last, and before that all is as at its
    start. `drives` (3, sim, control) are delay [steps], half the play and lead [steps]. `link` (sim, control) is where
    the play stands and is left where it ends.
    """
    sim_count, control_count = link.shape
    step_count, depth = commands.shape[1] * every, past.shape[1]
    out = np.empty((sim_count, step_count, control_count))
    later = np.empty_like(past)
    line = np.empty(depth + step_count)
    for s in range(sim_count):
        row = s if commands.shape[0] > 1 else 0
        for c in range(control_count):
            _draw_line(line, commands[row, :, c], past[s, :, c], every, is_ramp)
            delay, half_play, lead = drives[0, s, c], drives[1, s, c], drives[2, s, c]
            whole = int(delay)
            part = delay - whole
            y = link[s, c]
            for j in range(step_count):
                at = depth + j - whole
                late = line[max(at, 0)]
                if part > 0.0:
                    late = (1.0 - part) * late + part * line[max(at - 1, 0)]
                before = y
                y = min(max(y, late - half_play), late + half_play)
                out[s, j, c] = y + lead * (y - before)
            link[s, c] = y
            for k in range(depth):
                later[s, k, c] = line[step_count + k]
    return out, later


@numba.njit(cache=True, nogil=True)
def _draw_line(line, commands, past, every, is_ramp):  # type: ignore[no-untyped-def]
    """Undelayed commands of one control at each step, the past ones first."""
    depth = len(past)
    for k in range(depth):
        line[k] = past[k]
    before = past[depth - 1]
    at = depth
    for goal in commands:
        for i in range(every):
            line[at] = before + (goal - before) * (i + 1) / every if is_ramp else goal
            at += 1
        before = goal
