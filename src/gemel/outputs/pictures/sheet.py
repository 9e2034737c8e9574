"""Pictures beside and below each other."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, UInt8

Picture = UInt8[np.ndarray, "_ _ 3"]
_GAP = 2
_PAPER = 255


def as_picture(image: Float[np.ndarray, "h w 3"], *, size: int = 1) -> Picture:
    """Values 0 to 1 as bytes, each pixel `size` times as wide."""
    pixels = np.clip(np.round(255.0 * image), 0, 255).astype(np.uint8)
    return np.repeat(np.repeat(pixels, size, axis=0), size, axis=1)


def sheet(pictures: Sequence[Picture], *, columns: int) -> Picture:
    """Pictures in rows of `columns`, on white, each in a cell of the largest one's size."""
    height, width = (max(picture.shape[axis] for picture in pictures) for axis in (0, 1))
    rows = -(-len(pictures) // columns)
    columns = min(columns, len(pictures))
    paper = np.full((rows * (height + _GAP) - _GAP, columns * (width + _GAP) - _GAP, 3), _PAPER, dtype=np.uint8)
    for index, picture in enumerate(pictures):
        top, left = (index // columns) * (height + _GAP), (index % columns) * (width + _GAP)
        paper[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return paper


def magnification(width: int, *, wanted: int) -> int:
    """How many times a small image is enlarged so that people can see it."""
    return max(1, wanted // max(width, 1))
