"""An append-only, hash-chained record of what was done, in one SQLite database (WAL mode).

Each entry's hash covers its own content and the hash of the entry before it, so an edited, removed or
reordered entry breaks the chain at that place. SQLite's own counter keeps the highest number ever given, so
a cut-off tail shows as well.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gemel.errors import StoreError
from gemel.store.address import canonical_json, hash_bytes

GENESIS = "0" * 64
_BUSY_TIMEOUT_S = 30.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE
);
CREATE INDEX IF NOT EXISTS entry_kind_key ON entry (kind, json_extract(body, '$.key'));
CREATE INDEX IF NOT EXISTS entry_kind_address ON entry (kind, json_extract(body, '$.address'));
CREATE TRIGGER IF NOT EXISTS entry_no_update BEFORE UPDATE ON entry
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER IF NOT EXISTS entry_no_delete BEFORE DELETE ON entry
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TABLE IF NOT EXISTS file_hash (
    path TEXT PRIMARY KEY,
    stamp TEXT NOT NULL,
    sha256 TEXT NOT NULL
);
"""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger."""

    number: int
    at: str
    """UTC time, ISO 8601."""
    kind: str
    """`artifact`, `roles`, `read`, `refused` or `collected`."""
    body: dict[str, Any]
    previous: str
    hash: str

    def expected_hash(self) -> str:
        """The hash that this entry must have."""
        return _entry_hash(self.at, self.kind, canonical_json(self.body).decode(), self.previous)


class Ledger:
    """The ledger of one store. Several processes may append at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._db = _open_database(path)
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"The ledger {path} cannot be opened: {error}.",
                remedy="restore it from a copy; without its ledger a store proves nothing, so it is not rebuilt",
            ) from error

    def append(self, kind: str, body: dict[str, Any]) -> Entry:
        """Add one entry; durable when this returns."""
        with self.transaction():
            return self._append(kind, body)

    def append_unless(self, kind: str, body: dict[str, Any], *, fields: tuple[str, ...]) -> Entry | None:
        """Add one entry unless an entry of this kind with equal `fields` exists."""
        with self.transaction():
            if any(all(e.body[f] == body[f] for f in fields) for e in self.entries(kind, key=body["key"])):
                return None
            return self._append(kind, body)

    def entries(self, kind: str | None = None, *, key: str | None = None) -> Iterator[Entry]:
        """Entries in order, all or of one kind, all or of one work key."""
        query, arguments = "SELECT number, at, kind, body, previous, hash FROM entry", []
        conditions = []
        if kind is not None:
            conditions.append("kind = ?")
            arguments.append(kind)
        if key is not None:
            conditions.append("json_extract(body, '$.key') = ?")
            arguments.append(key)
        if conditions:
            query += " WHERE " + " AND ".join(conditions)
        for row in self._db.execute(query + " ORDER BY number", arguments):
            yield Entry(row[0], row[1], row[2], json.loads(row[3]), row[4], row[5])

    def by_address(self, address: str) -> Entry | None:
        """The entry that recorded an artifact."""
        row = self._db.execute(
            "SELECT number, at, kind, body, previous, hash FROM entry"
            " WHERE kind = 'artifact' AND json_extract(body, '$.address') = ? ORDER BY number LIMIT 1",
            [address],
        ).fetchone()
        return Entry(row[0], row[1], row[2], json.loads(row[3]), row[4], row[5]) if row else None

    def head(self) -> str:
        """Hash of the last entry: write it down, and the whole ledger up to it can be proved unchanged."""
        row = self._db.execute("SELECT hash FROM entry ORDER BY number DESC LIMIT 1").fetchone()
        return str(row[0]) if row else GENESIS

    def first_break(self) -> str | None:
        """Where the chain is broken, in words, or None when it is whole."""
        previous, expected_number = GENESIS, 1
        for number, at, kind, body, stored_previous, stored_hash in self._db.execute(
            "SELECT number, at, kind, body, previous, hash FROM entry ORDER BY number"
        ):
            if number != expected_number:
                return f"entry {expected_number} is missing"
            if stored_previous != previous or stored_hash != _entry_hash(at, kind, body, previous):
                return f"entry {number} ({kind}, {at}) was edited or the one before it was"
            previous, expected_number = stored_hash, number + 1
        row = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entry'").fetchone()
        if row and row[0] >= expected_number:
            return f"entries {expected_number} to {row[0]} were cut off the end"
        return None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside becomes visible and durable at once, or not at all."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def known_hash(self, path: Path) -> str | None:
        """Hash of a source file that was hashed before and has not changed since (size, time and inode)."""
        row = self._db.execute("SELECT stamp, sha256 FROM file_hash WHERE path = ?", [str(path)]).fetchone()
        return str(row[1]) if row and row[0] == _stamp(path) else None

    def remember_hashes(self, sha256_from_path: Mapping[Path, str]) -> None:
        """Keep the hashes of source files; a cache, not part of the chain."""
        if not sha256_from_path:
            return
        with self.transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO file_hash VALUES (?, ?, ?)",
                [(str(path), _stamp(path), digest) for path, digest in sha256_from_path.items()],
            )

    def close(self) -> None:
        """Release the database."""
        self._db.close()

    def _append(self, kind: str, body: dict[str, Any]) -> Entry:
        text = canonical_json(body).decode()
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        previous = self.head()
        digest = _entry_hash(at, kind, text, previous)
        cursor = self._db.execute(
            "INSERT INTO entry (at, kind, body, previous, hash) VALUES (?, ?, ?, ?, ?)",
            [at, kind, text, previous, digest],
        )
        return Entry(int(cursor.lastrowid or 0), at, kind, body, previous, digest)


def _open_database(path: Path) -> sqlite3.Connection:
    """Open and prepare the database; several processes may make it at once.

    SQLite does not wait for others while it changes to WAL mode, so a busy answer is asked again here.
    """
    give_up_at = time.monotonic() + _BUSY_TIMEOUT_S
    while True:
        db = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            db.executescript(_SCHEMA)
            return db
        except sqlite3.OperationalError as error:
            db.close()
            if "locked" not in str(error) or time.monotonic() > give_up_at:
                raise
            time.sleep(0.02)


def _entry_hash(at: str, kind: str, body: str, previous: str) -> str:
    return hash_bytes("\n".join((previous, at, kind, body)).encode())


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size}/{status.st_mtime_ns}/{status.st_ino}"
