"""A crew of plain Python threads that run one kernel side by side.

The kernels release the interpreter lock and share work through an atomic counter, so threads need no scheduler: whoever
is free takes the next piece. Threads sleep between calls (no spinning against torch's pool), any number of Python
threads may render at once, and a forked child starts its own crew.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache


@lru_cache(maxsize=4)
def _pool(process: int, size: int) -> ThreadPoolExecutor:
    """One pool per process and size; `process` keeps a forked child from waiting for its parent's threads."""
    return ThreadPoolExecutor(max_workers=size, thread_name_prefix="gemel-render")


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_crew(thread_count: int, job: Callable[[int], None]) -> None:
    """Call job(0) ... job(thread_count - 1) side by side and wait; job 0 runs on the calling thread."""
    if thread_count == 1:
        job(0)
        return
    pool = _pool(os.getpid(), thread_count - 1)
    others = [pool.submit(job, worker) for worker in range(1, thread_count)]
    job(0)
    wait(others)
    for other in others:
        other.result()
