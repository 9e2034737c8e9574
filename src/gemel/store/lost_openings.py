"""Openings of the holdout that the ledger no longer knows of, though what they showed is still in the store.

The ledger's chain shows what was edited or taken out of its middle. Cut off at its end, and with its counter set back,
it is a whole shorter ledger. But each Evidence says which opening it is of: where the ledger has fewer for that twin,
its end was cut off. Whoever removes the Evidence too leaves no trace here; then only a ledger head that was written
down elsewhere, such as in a report.html, tells.
"""

from collections.abc import Iterator

from gemel.artifacts.evidence import Evidence
from gemel.errors import StoreError
from gemel.store.address import short
from gemel.store.store import Store

_MANIFEST = b'{"arrays":'
"""How the canonical JSON of every manifest begins."""
_TWIN = "assemble"


def lost_openings(store: Store) -> list[str]:
    """In words; empty where the ledger has all of them."""
    counts: dict[str, int] = {}
    for entry in store.ledger.entries("opened"):
        counts[entry.body["twin"]] = counts.get(entry.body["twin"], 0) + 1
    found = []
    for address, evidence in _stored_evidence(store):
        twin = evidence.lineage.get(_TWIN, "")
        if counts.get(twin, 0) < evidence.opening:
            found.append(
                f"Evidence {short(address)} is of opening {evidence.opening} of the holdout for twin {short(twin)}, of "
                f"which the ledger has {counts.get(twin, 0)}: its end was cut off"
            )
    return found


def _stored_evidence(store: Store) -> Iterator[tuple[str, Evidence]]:
    """Every Evidence among the objects, whatever the ledger says."""
    for address in store.objects.addresses():
        with store.objects.path(address).open("rb") as file:
            if file.read(len(_MANIFEST)) != _MANIFEST:
                continue
        try:
            if store.manifest(address).type == Evidence.__name__:
                yield address, store.get(address, Evidence)
        except (StoreError, KeyError, ValueError):  # damaged, of another version, or no manifest at all
            continue
