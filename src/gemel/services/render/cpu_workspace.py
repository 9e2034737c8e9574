"""Buffers that live from call to call, so that drawing a frame allocates nothing but its results.

A forward pass borrows a workspace and the backward pass still needs it. Several forward passes may happen before the
first backward pass, so workspaces are lent: a `Loan` belongs to the autograd graph and hands the workspace back when
the graph is gone.
"""

from threading import Lock

import numpy as np


class Workspace:
    """Named flat arrays that grow when asked for more than they hold and never shrink."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def array(self, name: str, size: int, dtype: type = np.float32) -> np.ndarray:
        """A view of at least `size` elements; what is in it is left over from earlier calls."""
        held = self._arrays.get(name)
        if held is None or held.size < size:
            grown = max(size + size // 4, 64)
            held = self._arrays[name] = _aligned(grown, dtype)
        return held

    @property
    def bytes_held(self) -> int:
        """Memory of all arrays."""
        return sum(array.nbytes for array in self._arrays.values())


def _aligned(size: int, dtype: type) -> np.ndarray:
    """Zeros that start on a cache line (64 bytes), so that a splat's record lies in one line."""
    item = np.dtype(dtype).itemsize
    raw = np.zeros(size + 64 // item, dtype=dtype)
    skip = -int(raw.__array_interface__["data"][0]) % 64 // item
    return raw[skip : skip + size]


class Loan:
    """A workspace out on loan; goes back to its shelf when the last reference to the loan is dropped."""

    def __init__(self, shelf: "Shelf", workspace: Workspace) -> None:
        self._shelf = shelf
        self.workspace = workspace

    def __del__(self) -> None:
        self._shelf.give_back(self.workspace)


class Shelf:
    """The workspaces that nobody uses at the moment."""

    def __init__(self) -> None:
        self._free: list[Workspace] = []
        self._lock = Lock()

    def borrow(self) -> Loan:
        """Any free workspace, or a new one."""
        with self._lock:
            workspace = self._free.pop() if self._free else Workspace()
        return Loan(self, workspace)

    def give_back(self, workspace: Workspace) -> None:
        """Called by the loan."""
        with self._lock:
            self._free.append(workspace)

    @property
    def bytes_held(self) -> int:
        """Memory of the free workspaces."""
        return sum(workspace.bytes_held for workspace in self._free)
