"""The engine of one machine: fresh processes, one input in each at a time.

Workers are spawned rather than forked: a fork would copy locks that native libraries hold at that moment. Each
worker has its own pipe, so that it is always known which input a dead worker held, and a worker asks for nothing:
the parent hands the next input to whoever has answered.
"""

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from gemel.services.engine.engine import Input, OnProgress, Output, WorkerLostError, WorkFailedError

_STOP_WITHIN_S = 2.0


@dataclass(frozen=True)
class LocalEngine:
    """Runs `map` over processes of this machine."""

    def map(
        self,
        function: Callable[[Input], Output],
        inputs: Sequence[Input],
        *,
        workers: int = 0,
        on_progress: OnProgress = lambda done, total: None,
    ) -> list[Output]:
        """Outputs in the order of the inputs. With one worker or one input everything stays in this process."""
        count = min(workers or core_count(), len(inputs))
        if count <= 1:
            return _map_here(function, inputs, on_progress)
        with _workers(function, count) as pool:
            return _map_in(pool, _name(function), inputs, on_progress)


def core_count() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class _Worker:
    process: Any
    pipe: Connection


def _map_here(function: Callable[[Any], Any], inputs: Sequence[Any], on_progress: OnProgress) -> list[Any]:
    outputs = []
    for index, given in enumerate(inputs):
        try:
            outputs.append(function(given))
        except Exception as error:
            raise WorkFailedError(_name(function), index, given, _told(error)) from error
        on_progress(index + 1, len(inputs))
    return outputs


def _map_in(pool: list[_Worker], name: str, inputs: Sequence[Any], on_progress: OnProgress) -> list[Any]:
    outputs: dict[int, Any] = {}
    held: dict[int, _Worker] = {}
    waiting = iter(enumerate(inputs))

    def hand_next(worker: _Worker) -> None:
        task = next(waiting, None)
        if task is not None:
            held[task[0]] = worker
            _send(worker, task, name)

    for worker in pool:
        hand_next(worker)
    while held:
        ready = set(wait([worker.pipe for worker in held.values()]))
        for index, worker in [item for item in held.items() if item[1].pipe in ready]:
            outputs[index] = _answer(worker, name, index, inputs[index])
            del held[index]
            on_progress(len(outputs), len(inputs))
            hand_next(worker)
    return [outputs[index] for index in range(len(inputs))]


def _send(worker: _Worker, task: tuple[int, Any], name: str) -> None:
    try:
        worker.pipe.send(task[1])
    except (BrokenPipeError, ConnectionResetError):
        worker.process.join(_STOP_WITHIN_S)
        raise WorkerLostError(name, *task, worker.process.exitcode) from None


def _answer(worker: _Worker, name: str, index: int, given: Any) -> Any:
    try:
        output, error = worker.pipe.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join(_STOP_WITHIN_S)
        raise WorkerLostError(name, index, given, worker.process.exitcode) from None
    if error is not None:
        raise WorkFailedError(name, index, given, str(error)) from error
    return output


@contextmanager
def _workers(function: Callable[[Any], Any], count: int) -> Iterator[list[_Worker]]:
    """Started workers; whatever happens inside, none of them outlives this context."""
    context = multiprocessing.get_context("spawn")
    pool: list[_Worker] = []
    try:
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(function, theirs), daemon=True)
            process.start()
            theirs.close()  # so that a dead worker shows up as the end of the pipe
            pool.append(_Worker(process, ours))
        yield pool
    finally:
        _stop(pool)


def _stop(pool: list[_Worker]) -> None:
    for worker in pool:
        worker.pipe.close()
    for worker in pool:
        worker.process.terminate()
        worker.process.join(_STOP_WITHIN_S)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _serve(function: Callable[[Any], Any], pipe: Connection) -> None:
    """A worker's life: take an input, answer (output, error), until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which stops its workers
    while True:
        try:
            given = pipe.recv()
        except (EOFError, ConnectionResetError):
            return
        pipe.send(_attempt(function, given))


def _attempt(function: Callable[[Any], Any], given: Any) -> tuple[Any, Exception | None]:
    try:
        return function(given), None
    except Exception as error:
        # The original may hold what cannot travel (locks, native objects); its text always can.
        told = RuntimeError(_told(error))
        told.add_note("In the worker:\n" + traceback.format_exc())
        return None, told


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
