"""Freeing space: superseded blobs go, manifests and the ledger stay, so lineage can still be walked."""

from collections.abc import Iterable
from dataclasses import dataclass

from gemel.store.store import Store


@dataclass(frozen=True)
class Collected:
    """What `gemel gc` removed, or would remove."""

    object_count: int
    freed_bytes: int
    kept_count: int


def collect_garbage(store: Store, current: Iterable[str], *, is_dry_run: bool = False) -> Collected:
    """Remove every blob that no artifact in `current`, nor any artifact behind one, refers to."""
    kept = set(_reachable(store, current)) | _recorded_manifests(store)
    garbage = [address for address in store.objects.addresses() if address not in kept]
    freed = sum(store.objects.path(address).stat().st_size for address in garbage)
    if not is_dry_run:
        for address in garbage:
            store.objects.remove(address)
        store.objects.sweep_tmp()
        if garbage:
            store.ledger.append("collected", {"key": "", "objects": len(garbage), "bytes": freed})
    return Collected(len(garbage), freed, len(kept))


def _reachable(store: Store, addresses: Iterable[str]) -> Iterable[str]:
    queue, seen = list(addresses), set()
    while queue:
        address = queue.pop()
        if address in seen or not store.objects.has(address):
            continue
        seen.add(address)
        manifest = store.manifest(address)
        seen.update(manifest.blobs())
        queue += manifest.provenance.inputs.values()
    return seen


def _recorded_manifests(store: Store) -> set[str]:
    return {entry.body["address"] for entry in store.ledger.entries("artifact")}
