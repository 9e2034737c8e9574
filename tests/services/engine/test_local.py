"""The local engine: order, errors that name their input, workers that die, workers that are stopped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import engine_workers
from gemel.services.engine import LocalEngine, WorkerLostError, WorkFailedError


@pytest.mark.parametrize("workers", [1, 2])
def test_outputs_keep_the_order_of_the_inputs(workers: int) -> None:
    """Whatever the number of workers and whoever answers first, output i belongs to input i."""
    assert LocalEngine().map(engine_workers.double, list(range(6)), workers=workers) == [0, 2, 4, 6, 8, 10]


def test_progress_counts_to_the_total() -> None:
    """Each finished input is reported once, in growing numbers."""
    seen: list[tuple[int, int]] = []
    LocalEngine().map(engine_workers.double, [3, 4, 5], workers=2, on_progress=lambda *pair: seen.append(pair))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_carries_its_input(workers: int) -> None:
    """The error names the function, the input and the original message."""
    with pytest.raises(WorkFailedError, match="fail_on_three failed on input 3: ValueError: three is not") as caught:
        LocalEngine().map(engine_workers.fail_on_three, [0, 1, 2, 3, 4], workers=workers)
    assert caught.value.given == 3
    assert caught.value.__cause__ is not None


def test_a_killed_worker_is_reported_with_its_input() -> None:
    """A worker that dies without an answer is no hang and no riddle."""
    with pytest.raises(WorkerLostError, match="died with exit code -9") as caught:
        LocalEngine().map(engine_workers.die_on_two, [0, 1, 2, 3], workers=2)
    assert caught.value.given == 2


def test_nothing_to_do_is_done() -> None:
    """No inputs, no workers, no outputs."""
    assert LocalEngine().map(engine_workers.double, [], workers=2) == []


def test_interrupting_the_parent_stops_its_workers() -> None:
    """After Ctrl-C no worker is left running."""
    program = Path(engine_workers.__file__)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(program.parent), *sys.path])}
    process = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    lines = [process.stdout.readline().split() for _ in range(3)]
    workers = [int(line[-1]) for line in lines if line[0] != "parent"]
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    deadline = time.monotonic() + 5.0
    while any(_is_running(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_is_running(pid) for pid in workers)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2] if Path(f"/proc/{pid}").exists() else False
