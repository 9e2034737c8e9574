"""Buffers that live from call to call, so that drawing a frame allocates nothing but its results.

A forward pass borrows a workspace and the backward pass still needs it. Several forward passes may happen before the
first backward pass, so workspaces are lent: a `Loan` belongs to the autograd graph and hands the workspace back when
the graph is gone.
"""

from threading import Lock

import numpy as np

LINE = 64
"""Bytes of a cache line; every buffer starts on one, so that a splat's record lies in one line."""


class Workspace:
    """Named buffers, known by address, that grow when asked for more than they hold and never shrink."""

    def __init__(self) -> None:
        self._buffers: dict[str, tuple[int, np.ndarray]] = {}
        self.growth_count = 0
        """How often a buffer has moved: addresses noted earlier are good while this stays the same."""
        self._plan: tuple[object, int, object] = (None, -1, None)

    def room(self, name: str, size: int) -> int:
        """Address of a buffer of at least `size` bytes; what is in it is left over from earlier calls."""
        held = self._buffers.get(name)
        if held is None or held[1].nbytes < size + LINE:
            raw = np.zeros(size + size // 4 + 2 * LINE, dtype=np.uint8)
            start = int(raw.__array_interface__["data"][0])
            held = self._buffers[name] = (start + -start % LINE, raw)
            self.growth_count += 1
        return held[0]

    def remember(self, key: object, value: object) -> None:
        """Keep a tuple of addresses for the next call with equal sizes."""
        self._plan = (key, self.growth_count, value)

    def recall(self, key: object) -> object | None:
        """What was remembered for this key, unless a buffer has moved since."""
        held_key, growth_count, value = self._plan
        return value if growth_count == self.growth_count and held_key == key else None

    def bytes_of(self, name: str) -> int:
        """How much a buffer holds at present."""
        held = self._buffers.get(name)
        return 0 if held is None else held[1].nbytes - LINE

    def view(self, name: str, count: int, dtype: type) -> np.ndarray:
        """The first `count` items of a buffer as an array."""
        address, raw = self._buffers[name]
        skip = address - int(raw.__array_interface__["data"][0])
        return raw[skip : skip + count * np.dtype(dtype).itemsize].view(dtype)

    @property
    def bytes_held(self) -> int:
        """Memory of all buffers."""
        return sum(raw.nbytes for _, raw in self._buffers.values())


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
