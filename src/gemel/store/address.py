"""Content addresses: SHA-256 over bytes, and one canonical form of JSON to take it of."""

import hashlib
import json
from pathlib import Path
from typing import Any

CHUNK_BYTES = 1 << 20


def canonical_json(tree: Any) -> bytes:
    """The one byte form of a JSON tree: sorted keys, no spaces, no NaN."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def hash_bytes(data: bytes) -> str:
    """SHA-256 of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def hash_json(tree: Any) -> str:
    """SHA-256 of the canonical form of a JSON tree."""
    return hash_bytes(canonical_json(tree))


def hash_file(path: Path) -> str:
    """SHA-256 of a file in constant memory; releases the interpreter lock while hashing."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def short(address: str) -> str:
    """First eight digits, for people."""
    return address[:8]
