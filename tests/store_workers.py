"""What the store's tests run in other processes; a module of its own, so that a new process can import it."""

from pathlib import Path

from gemel.store.ledger import Ledger
from gemel.store.objects import Objects


def write_forty(root: str) -> list[str]:
    """Put the same forty objects as every other worker."""
    objects = Objects(Path(root))
    return [objects.put(bytes([i]) * 5000) for i in range(40)]


def append_twenty(path: str, writer: int) -> None:
    """Append twenty numbered entries."""
    ledger = Ledger(Path(path))
    for i in range(20):
        ledger.append("read", {"key": "k", "writer": writer, "i": i})
    ledger.close()
