"""Stacks of masks as few bytes: one bit per pixel, then compressed; and back."""

import zlib

import numpy as np
from jaxtyping import Bool


def pack_masks(masks: Bool[np.ndarray, "n h w"]) -> bytes:
    """The masks as bytes; equal masks give equal bytes."""
    shape = np.array(masks.shape, dtype="<u4").tobytes()
    return shape + zlib.compress(np.packbits(masks.reshape(-1)).tobytes(), 6)


def unpack_masks(data: bytes) -> Bool[np.ndarray, "n h w"]:
    """What `pack_masks` was given."""
    count, height, width = (int(v) for v in np.frombuffer(data[:12], dtype="<u4"))
    bits = np.frombuffer(zlib.decompress(data[12:]), dtype=np.uint8)
    return np.unpackbits(bits, count=count * height * width).reshape(count, height, width).astype(bool)
