from pathlib import Path

import numpy as np

from gemel.artifacts.provenance import Provenance
from gemel.store.collect import collect_garbage
from gemel.store.store import Store
from sample_artifacts import samples


def _provenance(seed: int, inputs: dict[str, str]) -> Provenance:
    return Provenance("test", inputs, {}, {}, "code", seed, "cpu")


def test_superseded_blobs_go_and_lineage_stays(tmp_path: Path) -> None:
    """What a current artifact needs is kept, blobs of old ones are freed, every manifest can still be read."""
    store = Store(tmp_path)
    belief = next(s for s in samples() if type(s).__name__ == "Belief")
    old = store.put(belief, _provenance(0, {}), key="old", duration_s=0.0)
    orphan = store.put_table({"x": np.arange(1000)})
    base = store.put(samples()[1], _provenance(0, {}), key="base", duration_s=0.0)
    twin = next(s for s in samples() if type(s).__name__ == "Reconstruction")
    new = store.put(twin, _provenance(1, {"base": base}), key="new", duration_s=0.0)
    old_arrays = store.manifest(old).arrays

    planned = collect_garbage(store, [new], is_dry_run=True)
    assert store.objects.has(orphan.address)
    done = collect_garbage(store, [new])

    assert (planned.object_count, planned.freed_bytes) == (done.object_count, done.freed_bytes)
    assert done.object_count == 2
    assert not store.objects.has(orphan.address)
    assert not store.objects.has(old_arrays)
    assert store.manifest(old).type == "Belief"
    assert store.get(new, type(twin)) is not None
    assert store.manifest(base).type == "Split"
    assert store.find("old") is None
    assert store.ledger.first_break() is None
