"""How workers share the phases of one call without waiting for each other's start.

All workers run the same kernel. A phase is a number of tasks; whoever is free takes the next one. Nobody enters a
phase before every task of the one before is *done*, yet nobody waits for a worker that has not arrived: a thread that
wakes up late joins the current phase, or leaves at once if the work is over. One wake-up per pass is all the
threads cost (a helper starts 0.03 to 0.06 ms after the caller).

A waiting worker offers its core to others (`sched_yield`) instead of spinning blindly.
"""

import os
from typing import Any

from numba import types  # noqa: TID253 - called from kernels

from gemel.services.render.cpu_compile import inlined
from gemel.services.render.simd import atomic_take

PHASES = 8
STRIDE = 16
"""int64 per phase in the control block: tasks taken at 0, tasks done at 8 (own cache lines)."""
CONTROL = PHASES * STRIDE

_yield_core: Any = types.ExternalFunction("sched_yield", types.int32())
IS_POSIX = os.name == "posix"


@inlined
def take(control: Any, phase: int) -> int:
    """The number of the next task of a phase; at or beyond the phase's total there is nothing left."""
    return atomic_take(control, phase * STRIDE, 1)


@inlined
def done(control: Any, phase: int) -> None:
    """Report one task as done."""
    atomic_take(control, phase * STRIDE + 8, 1)


@inlined
def finish(control: Any, phase: int, total: int) -> None:
    """Wait until all tasks of a phase are done."""
    while atomic_take(control, phase * STRIDE + 8, 0) < total:
        if IS_POSIX:
            _yield_core()
