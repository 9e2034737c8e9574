"""Masks survive packing."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gemel.geometry.bitmask import pack_masks, unpack_masks


@given(st.integers(0, 4), st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**31))
def test_unpacking_gives_back_what_was_packed(count: int, height: int, width: int, seed: int) -> None:
    """Any stack of masks comes back, whatever its size."""
    masks = np.random.default_rng(seed).random((count, height, width)) < 0.5
    assert np.array_equal(unpack_masks(pack_masks(masks)), masks)
