"""Fixtures of the formats tests: a small log and a store in memory."""

import hashlib
import shutil
from pathlib import Path

import pytest

from gemel.artifacts.blob import BlobRef, Table


class MemoryBlobs:
    """`Blobs` without a disk."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self.data: dict[str, bytes] = {}

    def put_table(self, table: Table) -> BlobRef:
        ref = BlobRef(f"table{len(self.tables)}", 0)
        self.tables[ref.address] = table
        return ref

    def get_table(self, ref: BlobRef) -> Table:
        return self.tables[ref.address]

    def put_bytes(self, data: bytes) -> BlobRef:
        ref = BlobRef(hashlib.sha256(data).hexdigest(), len(data))
        self.data[ref.address] = data
        return ref

    def get_bytes(self, ref: BlobRef) -> bytes:
        return self.data[ref.address]


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture(scope="session")
def pristine_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four short episodes with declared units; read only."""
    from gemel.worlds.waving_arm import WavingArm, write_log

    root = tmp_path_factory.mktemp("pristine") / "log"
    return write_log(root, WavingArm(episode_count=4, step_count=12, has_sidecar=True))


@pytest.fixture
def log(pristine_log: Path, tmp_path: Path) -> Path:
    """A copy of that log to damage."""
    return Path(shutil.copytree(pristine_log, tmp_path / "log"))
