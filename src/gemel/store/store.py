"""The store of one project: artifacts and blobs by content, and the ledger of how they came to be."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gemel.artifacts.blob import BlobRef, Table
from gemel.artifacts.provenance import Provenance
from gemel.errors import StoreError
from gemel.store.address import canonical_json, hash_file, hash_json, short
from gemel.store.codec import Arrays, decode, encode, pack_arrays, pack_table, unpack_arrays, unpack_table
from gemel.store.ledger import Ledger
from gemel.store.objects import Objects
from gemel.store.registry import SCHEMA_VERSION, stored_types

T = TypeVar("T")
_FORMAT = "gemel-artifact"


@dataclass(frozen=True)
class Manifest:
    """The root of a stored artifact. Its canonical JSON is what the address is the hash of."""

    address: str
    type: str
    provenance: Provenance
    payload: Any
    """JSON tree of the artifact."""
    arrays: str
    """Address of its arrays, or empty."""

    def blobs(self) -> tuple[str, ...]:
        """Addresses of everything that the artifact keeps outside its manifest."""
        return (*([self.arrays] if self.arrays else []), *_blob_addresses(self.payload))


class Store:
    """Artifacts, blobs and ledger below one folder; implements the `Blobs` protocol."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.objects = Objects(root)
        self.objects.create()
        self.objects.sweep_tmp()
        self.ledger = Ledger(root / "ledger.sqlite")

    @staticmethod
    def open(root: Path) -> "Store":
        """Open a store that must exist."""
        if not (root / "ledger.sqlite").exists():
            raise StoreError(
                f"There is no store at {root}: nothing has been run here yet.",
                remedy=f"run `gemel run {root.parent}` first",
            )
        return Store(root)

    def put(self, artifact: Any, provenance: Provenance, *, key: str, duration_s: float) -> str:
        """Store an artifact and record it; returns its address. `key` names the work that made it."""
        arrays: Arrays = {}
        payload = encode(artifact, arrays)
        type_name = type(artifact).__name__
        manifest = {
            "format": _FORMAT,
            "type": type_name,
            "schema": SCHEMA_VERSION[type_name],
            "provenance": encode(provenance, {}),
            "arrays": self.objects.put(pack_arrays(arrays)) if arrays else "",
            "payload": payload,
        }
        address = self.objects.put(canonical_json(manifest))
        self.objects.sync()
        body = {"key": key, "address": address, "type": type_name, "duration_s": round(duration_s, 3)}
        body |= {name: value for name, value in manifest["provenance"].items() if name != "$type"}
        self.ledger.append("artifact", body)
        return address

    def find(self, key: str) -> str | None:
        """Address of the artifact that this work made before, if all of it is still there."""
        for entry in reversed(list(self.ledger.entries("artifact", key=key))):
            address = str(entry.body["address"])
            if self.is_complete(address):
                return address
        return None

    def is_complete(self, address: str) -> bool:
        """Whether the manifest and everything it refers to is in the store."""
        return self.objects.has(address) and all(map(self.objects.has, self.manifest(address).blobs()))

    def manifest(self, address: str) -> Manifest:
        """Read and check the root of an artifact."""
        import json

        tree = json.loads(self.objects.read(address))
        written, known = tree["schema"], SCHEMA_VERSION.get(tree["type"], 0)
        if written > known:
            raise StoreError(
                f"Artifact {short(address)} is a {tree['type']} of schema {written}; this Gemel reads {known}.",
                remedy="use the version of Gemel that wrote it, or a newer one",
            )
        content = {k: v for k, v in tree["provenance"].items() if k != "$type"}
        return Manifest(address, tree["type"], Provenance(**content), tree["payload"], tree["arrays"])

    def get(self, address: str, kind: type[T]) -> T:
        """Read an artifact back."""
        manifest = self.manifest(address)
        if manifest.type != kind.__name__:
            raise StoreError(
                f"Artifact {short(address)} is a {manifest.type}, not a {kind.__name__}.",
                remedy="look at `gemel status` for the address of the artifact that is meant",
            )
        arrays: Mapping[str, Any] = unpack_arrays(self.objects.read(manifest.arrays)) if manifest.arrays else {}
        artifact = decode(manifest.payload, arrays, stored_types())
        assert isinstance(artifact, kind)
        return artifact

    def put_bytes(self, data: bytes) -> BlobRef:
        """Store bytes beside the artifacts."""
        return BlobRef(self.objects.put(data), len(data))

    def get_bytes(self, ref: BlobRef) -> bytes:
        """Read bytes back."""
        return self.objects.read(ref.address)

    def put_table(self, table: Table) -> BlobRef:
        """Store columns of equal length as parquet."""
        return self.put_bytes(pack_table(table))

    def get_table(self, ref: BlobRef) -> Table:
        """Read columns back."""
        return unpack_table(self.get_bytes(ref))

    def hash_files(
        self, paths: Sequence[Path], *, on_file: Callable[[Path, str], None] = lambda path, digest: None
    ) -> dict[Path, str]:
        """SHA-256 of source files, two at a time, remembering each so that a killed run resumes where it was."""
        known = {path: self.ledger.known_hash(path) for path in paths}
        hashes: dict[Path, str] = {}
        fresh: dict[Path, str] = {}
        remembered_at = time.monotonic()
        with ThreadPoolExecutor(max_workers=_HASH_THREADS) as pool:
            pending = {p: pool.submit(hash_file, p) for p, digest in known.items() if digest is None}
            for path, digest in known.items():
                hashes[path] = digest or pending[path].result()
                if digest is None:
                    fresh[path] = hashes[path]
                if time.monotonic() > remembered_at + _REMEMBER_EVERY_S:
                    self.ledger.remember_hashes(fresh)
                    fresh, remembered_at = {}, time.monotonic()
                on_file(path, hashes[path])
        self.ledger.remember_hashes(fresh)
        return hashes

    def close(self) -> None:
        """Release the ledger."""
        self.ledger.close()


_REMEMBER_EVERY_S = 0.5
_HASH_THREADS = 2  # hashing releases the interpreter lock; more threads only thrash a disk


def work_key(provenance: Provenance) -> str:
    """The name of a piece of work: the same inputs, settings, code, seed and device give the same key."""
    return hash_json(encode(provenance, {}))


def _blob_addresses(tree: Any) -> list[str]:
    if isinstance(tree, list):
        return [address for item in tree for address in _blob_addresses(item)]
    if not isinstance(tree, dict):
        return []
    if tree.get("$type") == "BlobRef":
        return [tree["address"]]
    return [address for item in tree.values() for address in _blob_addresses(item)]
