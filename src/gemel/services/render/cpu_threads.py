"""Helper threads that run one kernel beside the calling thread.

The kernels release the interpreter lock and share their work by themselves (cpu_phases.py), so a helper only has to be
woken up. Helpers sleep between calls (no spinning against torch's pool), any number of Python threads may render at
once, and a forked child starts its own helpers.

A thread that is woken for a few milliseconds is often put on the very core that woke it, and Linux takes longer than
the frame lasts to notice: two threads then run no faster than one. A helper therefore looks where it landed and, if
that core is taken, moves itself to a free one: its affinity is narrowed for a moment and then restored.
"""

import ctypes
import os
from collections.abc import Callable
from functools import cache, lru_cache, partial
from queue import SimpleQueue
from threading import Thread


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=1)
def _core_reader() -> Callable[[], int] | None:
    """The C library's `sched_getcpu`, where there is one (Linux)."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    reader: Callable[[], int] | None = getattr(ctypes.CDLL(None), "sched_getcpu", None)
    return reader


def _settle(taken: list[int]) -> None:
    """Leave a core that an earlier worker of this call runs on, and note the core that this worker runs on."""
    core_now = _core_reader()
    if core_now is None:
        return
    if core_now() in taken:
        allowed = os.sched_getaffinity(0)
        free = allowed.difference(taken)
        if free:
            os.sched_setaffinity(0, free)
            os.sched_setaffinity(0, allowed)
    taken.append(core_now())


@cache
def _helper(process: int, number: int) -> "SimpleQueue[Callable[[], None]]":
    """The job queue of helper `number`; `process` keeps a forked child from talking to its parent's threads."""
    jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
    Thread(target=_work, args=(jobs,), name=f"gemel-render-{number}", daemon=True).start()
    return jobs


def _work(jobs: "SimpleQueue[Callable[[], None]]") -> None:
    while True:
        jobs.get()()


def run_with_helpers(thread_count: int, job: Callable[[int], None], keep: object) -> None:
    """Run job(0) here and job(1) ... job(thread_count - 1) on helpers; returns when job(0) returns.

    job(0) must not return before all work is done. A helper that wakes up later must find nothing left to do; `keep`
    is what it still looks at to see that, and stays alive until then.
    """
    if thread_count > 1:
        taken: list[int] = []
        _settle(taken)
        for worker in range(1, thread_count):
            _helper(os.getpid(), worker).put(partial(_run, job, worker, taken, keep))
    job(0)


def _run(job: Callable[[int], None], worker: int, taken: list[int], keep: object) -> None:
    _settle(taken)
    job(worker)
