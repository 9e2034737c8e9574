"""What an engine is: something that applies one pure function to many inputs and keeps their order.

Owns the protocol and its errors. Does not own where the work runs: see `local.py` for processes of this machine.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from gemel.errors import GemelError

Input = TypeVar("Input")
Output = TypeVar("Output")
OnProgress = Callable[[int, int], None]
"""Called with (inputs done, inputs in all) each time one is done."""

_SHOWN_CHARACTERS = 200


@runtime_checkable
class Engine(Protocol):
    """Applies a function to many inputs.

    The function and its inputs must survive the way to another process: a function that can be imported by name,
    inputs made of numbers, strings, arrays and frozen dataclasses. Equal inputs give equal outputs whatever the
    number of workers, because nothing but the input reaches the function.
    """

    def map(
        self,
        function: Callable[[Input], Output],
        inputs: Sequence[Input],
        *,
        workers: int = 0,
        on_progress: OnProgress = lambda done, total: None,
    ) -> list[Output]:
        """Outputs in the order of the inputs; `workers` 0 means one for each core."""
        ...


class WorkFailedError(GemelError):
    """The function raised for one input. `given` is that input, the cause is the original exception."""

    def __init__(self, function_name: str, index: int, given: object, problem: str) -> None:
        super().__init__(
            f"{function_name} failed on input {index}: {problem}\n  The input was {shortened(given)}.",
            remedy="correct that input, or call the function on it alone (workers=1) to see where it fails",
        )
        self.index = index
        self.given = given


class WorkerLostError(GemelError):
    """A worker process died without an answer: killed, out of memory, or a crash in native code."""

    def __init__(self, function_name: str, index: int, given: object, exit_code: int | None) -> None:
        super().__init__(
            f"The worker that ran {function_name} on input {index} died with exit code {exit_code}, "
            f"without an answer.\n  The input was {shortened(given)}.",
            remedy="if memory ran out, use fewer workers; if it dies again, run that input alone with workers=1",
        )
        self.index = index
        self.given = given


def shortened(value: object) -> str:
    """The value as text, cut where it gets long."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
