"""A folder of immutable files, each named by its content.

Writes are atomic: a temporary file, fsync, rename; `sync` then makes the names durable as well, and is called
before the ledger mentions them. Nothing is ever overwritten, so any number of processes may write at once.
"""

import os
import secrets
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gemel.errors import StoreError
from gemel.store.address import hash_bytes, hash_file, short

_SYNC_THREADS = 16


class Objects:
    """Immutable files below `root/objects`."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "objects"
        self.tmp = root / "tmp"
        self._unsynced: set[Path] = set()

    def create(self) -> None:
        """Make the folders; harmless when they exist."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.tmp.mkdir(parents=True, exist_ok=True)

    def path(self, address: str) -> Path:
        """Where an object lies or would lie."""
        return self.folder / address[:2] / address[2:]

    def has(self, address: str) -> bool:
        """Whether the object is there."""
        return self.path(address).exists()

    def put(self, data: bytes) -> str:
        """Store bytes and return their address. Storing the same bytes twice is one file."""
        address = hash_bytes(data)
        target = self.path(address)
        if not target.exists():
            if not target.parent.exists():
                target.parent.mkdir(exist_ok=True)
                self._unsynced.add(self.folder)
            self._write_durably(data, target)
        return address

    def sync(self) -> None:
        """Make everything that was put durable: after this, a power cut loses none of it."""
        folders, self._unsynced = self._unsynced, set()
        # Side by side, because a journalling file system serves all waiting syncs with one commit.
        with ThreadPoolExecutor(max_workers=_SYNC_THREADS) as pool:
            list(pool.map(_sync_folder, folders))

    def read(self, address: str) -> bytes:
        """The bytes of an object, checked against its address."""
        path = self.path(address)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise StoreError(
                f"Object {short(address)} is not in the store at {self.folder}.",
                remedy="run `gemel run` again: what is missing is made anew",
            ) from None
        if hash_bytes(data) != address:
            raise self._damaged(address)
        return data

    def verify(self, address: str) -> bool:
        """Whether the object is there and its bytes still match its name."""
        return self.has(address) and hash_file(self.path(address)) == address

    def remove(self, address: str) -> int:
        """Delete an object; returns the bytes freed."""
        path = self.path(address)
        size = path.stat().st_size
        path.unlink()
        return size

    def addresses(self) -> list[str]:
        """All objects, sorted."""
        return sorted(f.parent.name + f.name for f in self.folder.glob("??/*"))

    def sweep_tmp(self) -> int:
        """Delete what dead processes of this machine left half-written; returns how many files."""
        stale = [file for file in self.tmp.iterdir() if _writer_is_dead(file.name)]
        for file in stale:
            file.unlink(missing_ok=True)
        return len(stale)

    def _write_durably(self, data: bytes, target: Path) -> None:
        temporary = self.tmp / f"{socket.gethostname()}~{os.getpid()}~{secrets.token_hex(8)}"
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(0o444)
            temporary.rename(target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise StoreError(
                f"Could not write {len(data)} bytes below {self.folder}: {error.strerror}.",
                remedy="free some space (`gemel gc DIR`) or make the folder writable, then run again",
            ) from error
        self._unsynced.add(target.parent)

    def _damaged(self, address: str) -> StoreError:
        return StoreError(
            f"Object {short(address)} no longer matches its address: the file {self.path(address)} was changed.",
            remedy="delete that file and run `gemel run` again; `gemel audit` lists every damaged object",
        )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _writer_is_dead(temporary_name: str) -> bool:
    host, pid, _ = temporary_name.split("~")
    if host != socket.gethostname():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
