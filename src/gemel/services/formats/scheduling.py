"""Keeps an encoder from changing how this process is scheduled."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def same_scheduling() -> Iterator[None]:
    """Leave the process as it was: run by root, SVT-AV1 puts its caller on real-time priority for good."""
    if not hasattr(os, "sched_getscheduler"):  # not Linux
        yield
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        if os.sched_getscheduler(0) != policy:
            os.sched_setscheduler(0, policy, parameters)
