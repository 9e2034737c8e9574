"""TensorBoard logs of a training; without the package there are none, and nothing else changes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Board:
    """Writes numbers by name; tags are `QUANTITY/AGENT`."""

    def __init__(self, folder: Path, first_step: int) -> None:
        self._writer: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ModuleNotFoundError:
            return
        self._writer = SummaryWriter(str(folder), purge_step=first_step, flush_secs=10)

    def note(self, agent: str, numbers: Mapping[str, float], steps: int) -> None:
        """Numbers of one agent after so many of its control steps."""
        if self._writer is None:
            return
        for name, value in numbers.items():
            self._writer.add_scalar(f"{name}/{agent}", value, steps)

    def close(self) -> None:
        """Finish the files."""
        if self._writer is not None:
            self._writer.close()
