import multiprocessing
import os
import socket
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from gemel.errors import StoreError
from gemel.store.address import hash_bytes
from gemel.store.objects import Objects
from store_workers import write_forty


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    folder = Objects(tmp_path)
    folder.create()
    return folder


def test_what_is_put_is_read_back_under_its_hash(objects: Objects) -> None:
    """The address is the SHA-256 of the bytes, and reading gives the bytes back."""
    data = bytes(range(256)) * 100
    address = objects.put(data)
    assert address == hash_bytes(data)
    assert objects.read(address) == data


def test_putting_the_same_bytes_twice_never_rewrites_the_file(objects: Objects) -> None:
    """An object, once there, is not touched again."""
    address = objects.put(b"once")
    before = objects.path(address).stat()
    objects.put(b"once")
    after = objects.path(address).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_objects_are_read_only_files(objects: Objects) -> None:
    """A careless edit meets a file without write permission."""
    assert objects.path(objects.put(b"kept")).stat().st_mode & 0o222 == 0


def test_a_changed_object_is_noticed_on_reading(objects: Objects) -> None:
    """Bytes that no longer match their name are refused, and the message names the file."""
    address = objects.put(b"original")
    path = objects.path(address)
    path.chmod(0o644)
    path.write_bytes(b"tampered")
    assert not objects.verify(address)
    with pytest.raises(StoreError, match="no longer matches its address") as caught:
        objects.read(address)
    assert str(path) in str(caught.value)


def test_a_missing_object_says_what_to_do(objects: Objects) -> None:
    """Reading what is not there tells how to make it."""
    with pytest.raises(StoreError, match=r"is not in the store.*\n.*gemel run"):
        objects.read("0" * 64)


def test_nothing_is_left_in_tmp_after_a_write(objects: Objects) -> None:
    """The temporary file becomes the object."""
    objects.put(b"x" * 1000)
    assert list(objects.tmp.iterdir()) == []


def test_sweeping_removes_only_what_dead_writers_left(objects: Objects) -> None:
    """Temporary files of living processes and of other machines stay."""
    host = socket.gethostname()
    dead = _dead_process_id()
    (objects.tmp / f"{host}~{dead}~aa").write_bytes(b"half")
    alive = objects.tmp / f"{host}~{os.getpid()}~bb"
    elsewhere = objects.tmp / f"another-{host}~{dead}~cc"
    alive.write_bytes(b"busy")
    elsewhere.write_bytes(b"busy")
    assert objects.sweep_tmp() == 1
    assert sorted(objects.tmp.iterdir()) == sorted([alive, elsewhere])


def test_a_full_disk_is_reported_and_leaves_nothing(objects: Objects, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails half-way leaves neither an object nor a temporary file."""

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(StoreError, match="No space left"):
        objects.put(b"too much")
    assert list(objects.tmp.iterdir()) == []
    assert not objects.has(hash_bytes(b"too much"))


def test_many_processes_may_write_the_same_objects_at_once(objects: Objects, tmp_path: Path) -> None:
    """Concurrent writers of overlapping content end with one intact copy of each."""
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        written = list(pool.map(write_forty, [str(tmp_path)] * 4))
    assert len({tuple(addresses) for addresses in written}) == 1
    assert objects.addresses() == sorted(written[0])
    assert all(objects.verify(address) for address in written[0])
    assert list(objects.tmp.iterdir()) == []


def _dead_process_id() -> int:
    process = multiprocessing.get_context("spawn").Process(target=int)
    process.start()
    process.join()
    assert process.pid is not None
    return process.pid
