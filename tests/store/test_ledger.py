import multiprocessing
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from gemel.errors import StoreError
from gemel.store.ledger import GENESIS, Ledger
from store_workers import append_twenty


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    book = Ledger(tmp_path / "ledger.sqlite")
    for i in range(5):
        book.append("read", {"key": "k", "i": i})
    return book


def _edit(ledger: Ledger, *statements: str) -> None:
    """Change the database behind Gemel's back, triggers removed first, as a forger would."""
    ledger.close()
    db = sqlite3.connect(ledger.path)
    db.executescript("DROP TRIGGER entry_no_update; DROP TRIGGER entry_no_delete;" + ";".join(statements))
    db.commit()
    db.close()


def test_entries_are_chained_from_the_first(ledger: Ledger) -> None:
    """Every entry carries the hash of the one before it, and its own hash covers that."""
    entries = list(ledger.entries())
    assert entries[0].previous == GENESIS
    assert [e.previous for e in entries[1:]] == [e.hash for e in entries[:-1]]
    assert all(entry.hash == entry.expected_hash() for entry in entries)
    assert ledger.head() == entries[-1].hash
    assert ledger.first_break() is None


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ('UPDATE entry SET body = \'{"i":9,"key":"k"}\' WHERE number = 3', "entry 3"),
        ("UPDATE entry SET kind = 'refused' WHERE number = 2", "entry 2"),
        ("UPDATE entry SET at = '2001-01-01T00:00:00Z' WHERE number = 4", "entry 4"),
        ("DELETE FROM entry WHERE number = 3", "entry 3 is missing"),
        ("DELETE FROM entry WHERE number > 3", "entries 4 to 5 were cut off"),
        ("UPDATE entry SET number = 99 WHERE number = 5", "entry 5 is missing"),
    ],
)
def test_an_edit_shows_and_where(ledger: Ledger, statement: str, expected: str) -> None:
    """Whatever is changed, removed, cut off or reordered, the first broken place is named."""
    _edit(ledger, statement)
    broken = Ledger(ledger.path).first_break()
    assert broken is not None
    assert expected in broken


def test_an_edit_with_a_recomputed_hash_still_breaks_the_next_link(ledger: Ledger) -> None:
    """Rehashing one entry is not enough: the entry after it still points at the old hash."""
    import hashlib

    entry = list(ledger.entries())[2]
    body = '{"i":77,"key":"k"}'
    forged = hashlib.sha256("\n".join((entry.previous, entry.at, entry.kind, body)).encode()).hexdigest()
    _edit(ledger, f"UPDATE entry SET body = '{body}', hash = '{forged}' WHERE number = 3")
    assert "entry 4" in str(Ledger(ledger.path).first_break())


def test_the_database_itself_refuses_updates_and_deletes(ledger: Ledger) -> None:
    """Without removing the triggers, SQL cannot change the past."""
    db = sqlite3.connect(ledger.path)
    for statement in ("UPDATE entry SET kind = 'x'", "DELETE FROM entry"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            db.execute(statement)
    db.close()


def test_a_failed_transaction_leaves_no_entry(ledger: Ledger) -> None:
    """What is written inside a transaction that fails was never written."""
    before = ledger.head()

    def fail_half_way() -> None:
        with ledger.transaction():
            ledger._append("read", {"key": "k", "i": 5})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert ledger.head() == before
    assert ledger.first_break() is None


def test_processes_appending_at_once_keep_one_whole_chain(tmp_path: Path) -> None:
    """Concurrent writers interleave, and no link is lost."""
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(append_twenty, [str(path)] * 4, range(4)))
    ledger = Ledger(path)
    assert ledger.first_break() is None
    written = [(e.body["writer"], e.body["i"]) for e in ledger.entries("read")]
    assert len(written) == 80
    for writer in range(4):
        assert [i for w, i in written if w == writer] == list(range(20))


def test_a_file_that_is_no_database_is_one_clear_error(tmp_path: Path) -> None:
    """A damaged ledger is named, and not silently replaced."""
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"this is not a database, but long enough to look at" * 10)
    with pytest.raises(StoreError, match="cannot be opened"):
        Ledger(path)
    assert path.read_bytes().startswith(b"this is not")


def test_known_hashes_expire_when_the_file_changes(tmp_path: Path) -> None:
    """The cache of source hashes believes a file only while size, time and inode stay the same."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    file = tmp_path / "video.mp4"
    file.write_bytes(b"one")
    ledger.remember_hashes({file: "h1"})
    assert ledger.known_hash(file) == "h1"
    file.write_bytes(b"three")
    assert ledger.known_hash(file) is None
