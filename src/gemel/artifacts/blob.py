"""References to bytes that are kept beside an artifact, not inside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np


@dataclass(frozen=True)
class BlobRef:
    """Bytes in the store, by content."""

    address: str
    """SHA-256 of the bytes, in hex."""
    size_bytes: int


@dataclass(frozen=True)
class FileRef:
    """A file that stays where the user keeps it: path inside the source, and what it must contain."""

    path: str
    """Path relative to the source's root, with forward slashes."""
    sha256: str
    size_bytes: int


Table = Mapping[str, np.ndarray]
"""Columns of equal length: (t,) or (t, width) numbers, or (t,) strings."""


@runtime_checkable
class Blobs(Protocol):
    """What a stage needs to keep large data out of its artifact."""

    def put_table(self, table: Table) -> BlobRef:
        """Store columns of equal length."""
        ...

    def get_table(self, ref: BlobRef) -> Table:
        """Read back what `put_table` stored."""
        ...

    def put_bytes(self, data: bytes) -> BlobRef:
        """Store bytes."""
        ...

    def get_bytes(self, ref: BlobRef) -> bytes:
        """Read back what `put_bytes` stored."""
        ...
