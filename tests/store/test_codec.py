import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gemel.artifacts.provenance import Provenance
from gemel.errors import StoreError
from gemel.store.address import canonical_json
from gemel.store.codec import decode, encode, pack_arrays, pack_table, unpack_arrays, unpack_table
from gemel.store.registry import SCHEMA_VERSION, stored_types
from gemel.store.store import Store
from sample_artifacts import samples

PROVENANCE = Provenance("test", {}, {"log": "00"}, {"x": 1}, "code", 0, "cpu")


@pytest.mark.parametrize("artifact", samples(), ids=lambda artifact: type(artifact).__name__)
def test_every_artifact_survives_the_store_bit_by_bit(artifact: Any, tmp_path: Path) -> None:
    """Put, get, put again: the second address equals the first, so nothing was lost or changed."""
    store = Store(tmp_path)
    first = store.put(artifact, PROVENANCE, key="k", duration_s=1.0)
    again = store.get(first, type(artifact))
    second = store.put(again, PROVENANCE, key="k", duration_s=99.0)
    assert first == second


def test_there_is_a_sample_of_every_storable_artifact() -> None:
    """A new artifact type without a round-trip test fails here."""
    assert {type(artifact).__name__ for artifact in samples()} == set(SCHEMA_VERSION)


def test_every_registered_type_is_a_dataclass_or_an_enum() -> None:
    """The registry names only classes that exist."""
    from enum import Enum

    assert all(dataclasses.is_dataclass(t) or issubclass(t, Enum) for t in stored_types().values())


def test_held_out_data_cannot_be_stored() -> None:
    """The sealed view is never written anywhere."""
    assert "HeldOutData" not in stored_types()


def test_an_unknown_type_is_refused() -> None:
    """A file cannot choose what gets constructed."""
    with pytest.raises(StoreError, match="'Popen'"):
        decode({"$type": "Popen", "args": "true"}, {}, stored_types())


def test_a_newer_schema_is_refused_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An artifact of a later version is not half-understood."""
    store = Store(tmp_path)
    artifact = samples()[1]
    with monkeypatch.context() as patch:
        patch.setitem(SCHEMA_VERSION, "Split", 2)
        address = store.put(artifact, PROVENANCE, key="k", duration_s=0.0)
    with pytest.raises(StoreError, match=r"schema 2; this Gemel reads 1"):
        store.get(address, type(artifact))


def test_asking_for_the_wrong_type_says_what_it_is(tmp_path: Path) -> None:
    """A Split is not a Capture."""
    from gemel.artifacts.capture import Capture

    store = Store(tmp_path)
    address = store.put(samples()[1], PROVENANCE, key="k", duration_s=0.0)
    with pytest.raises(StoreError, match="is a Split, not a Capture"):
        store.get(address, Capture)


_ARRAYS = hnp.arrays(
    dtype=st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_, np.int16]),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.dictionaries(st.text("abcxyz_/", min_size=1), _ARRAYS, max_size=4))
def test_arrays_round_trip_with_dtype_shape_and_bits(arrays: dict[str, np.ndarray]) -> None:
    """Any set of arrays comes back with the same dtype, shape and bytes."""
    again = unpack_arrays(pack_arrays(arrays))
    assert set(again) == set(arrays)
    for name, array in arrays.items():
        assert again[name].dtype == array.dtype
        assert again[name].shape == array.shape
        assert again[name].tobytes() == array.tobytes()


def test_arrays_after_an_odd_number_of_bytes_are_aligned() -> None:
    """C++ libraries such as OpenUSD take no unaligned arrays; what was aligned already is not copied."""
    again = unpack_arrays(pack_arrays({"a": np.zeros(3, np.uint8), "b": np.arange(5, dtype=np.float32)}))
    assert again["b"].flags.aligned
    assert not again["b"].flags.writeable
    np.testing.assert_array_equal(again["b"], np.arange(5))


def test_packed_arrays_are_a_safetensors_file() -> None:
    """Header length, JSON header, contiguous data, aligned to eight bytes: any safetensors reader opens it."""
    data = pack_arrays({"b": np.arange(3, dtype=np.float32), "a": np.ones((2, 2), dtype=np.int64)})
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    assert size % 8 == 0
    assert header["a"] == {"dtype": "I64", "shape": [2, 2], "data_offsets": [0, 32]}
    assert header["b"] == {"dtype": "F32", "shape": [3], "data_offsets": [32, 44]}
    assert len(data) == 8 + size + 44


def test_tables_round_trip_with_numbers_vectors_and_text() -> None:
    """Columns of scalars, of vectors and of strings keep their values; a table's bytes are reproducible."""
    table = {
        "time_s": np.linspace(0, 1, 5),
        "joints": np.random.default_rng(0).normal(size=(5, 6)),
        "step": np.arange(5),
        "image/front": np.array(["a.png", "", "ü.png", "d", "e"]),
    }
    packed = pack_table(table)
    again = unpack_table(packed)
    assert list(again) == list(table)
    for name, column in table.items():
        np.testing.assert_array_equal(again[name], column)
    assert pack_table(again) == packed


_TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3).map(lambda d: dict(sorted(d.items())))
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(_TREES)
def test_plain_values_round_trip_through_canonical_json(tree: Any) -> None:
    """NaN, infinities, text of any kind, nesting: what goes in comes out, and equal values have equal bytes.

    Mappings come back in order of their keys: their order carries no meaning.
    """
    data = canonical_json(encode(tree, {}))
    again = decode(json.loads(data), {}, {})
    assert canonical_json(encode(again, {})) == data
    assert repr(again) == repr(tree)


def test_times_and_durations_are_outside_the_address(tmp_path: Path) -> None:
    """Equal work is equal bytes, however long it took and whenever it was done."""
    store = Store(tmp_path)
    quick = store.put(samples()[1], PROVENANCE, key="a", duration_s=0.1)
    slow = store.put(samples()[1], PROVENANCE, key="b", duration_s=1000.0)
    assert quick == slow


def test_provenance_is_inside_the_address(tmp_path: Path) -> None:
    """The same content from another seed is another artifact: lineage cannot be swapped."""
    store = Store(tmp_path)
    one = store.put(samples()[1], PROVENANCE, key="a", duration_s=0.0)
    other = store.put(samples()[1], dataclasses.replace(PROVENANCE, seed=1), key="a", duration_s=0.0)
    assert one != other
