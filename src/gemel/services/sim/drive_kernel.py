"""What drives make of commands: ramp, delay, play and lead, one physics step after the other. All about numba."""

import numba  # noqa: TID253
import numpy as np


@numba.njit(cache=True, nogil=True)
def driven_commands(commands, past, drives, link, every, is_ramp):  # type: ignore[no-untyped-def]
    """Commands that reach the servos at each physics step, (sim, t * every, control).

    `commands` (sim or 1, t, control) hold for `every` steps each, or are reached in a straight line over them; `past`
    (sim, h, control) are the undelayed commands of the steps before, the latest last. `drives` (3, sim, control) are
    delay [steps], half the play and lead [steps]. `link` (sim, control) is where the play stands and is left where it
    ends.
    """
    sim_count, control_count = link.shape
    step_count = commands.shape[1] * every
    out = np.empty((sim_count, step_count, control_count))
    for s in range(sim_count):
        row = s if commands.shape[0] > 1 else 0
        for c in range(control_count):
            delay, half_play, lead = drives[:, s, c]
            whole = int(delay)
            part = delay - whole
            y = link[s, c]
            for j in range(step_count):
                late = _undelayed(commands[row, :, c], past[s, :, c], j - whole, every, is_ramp)
                if part > 0.0:
                    later = _undelayed(commands[row, :, c], past[s, :, c], j - whole - 1, every, is_ramp)
                    late = (1.0 - part) * late + part * later
                before = y
                y = min(max(y, late - half_play), late + half_play)
                out[s, j, c] = y + lead * (y - before)
            link[s, c] = y
    return out


@numba.njit(cache=True, nogil=True)
def undelayed_tail(commands, past, every, is_ramp):  # type: ignore[no-untyped-def]
    """The undelayed commands of the last `past.shape[1]` steps, after `commands`."""
    tail = np.empty_like(past)
    first = commands.shape[1] * every - past.shape[1]
    for s in range(past.shape[0]):
        row = s if commands.shape[0] > 1 else 0
        for c in range(past.shape[2]):
            for k in range(past.shape[1]):
                tail[s, k, c] = _undelayed(commands[row, :, c], past[s, :, c], first + k, every, is_ramp)
    return tail


@numba.njit(cache=True, nogil=True)
def _undelayed(commands, past, step, every, is_ramp):  # type: ignore[no-untyped-def]
    """The command of one step; steps before the first are in the past, and before that all is as at its start."""
    if step < 0:
        return past[max(len(past) + step, 0)]
    k = step // every
    if not is_ramp:
        return commands[k]
    before = commands[k - 1] if k > 0 else past[-1]
    return before + (commands[k] - before) * (step - k * every + 1) / every
