"""Contact sheets: frames with the outlines of masks over them, many to a picture."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, UInt8

_OUTLINE, _UNSURE = (255, 0, 220), (255, 210, 0)
_COLUMNS = 8
_CELL_WIDTH = 240


def outlined(
    image: UInt8[np.ndarray, "h w 3"], mask: Bool[np.ndarray, "h w"], *, is_sure: bool
) -> UInt8[np.ndarray, "h w 3"]:
    """The image with the mask's rim drawn over it: magenta, or yellow for a mask that is left out."""
    inner = mask.copy()
    inner[1:] &= mask[:-1]
    inner[:-1] &= mask[1:]
    inner[:, 1:] &= mask[:, :-1]
    inner[:, :-1] &= mask[:, 1:]
    picture = image.copy()
    picture[mask & ~inner] = _OUTLINE if is_sure else _UNSURE
    if not is_sure:
        picture[:2] = picture[-2:] = _UNSURE
        picture[:, :2] = picture[:, -2:] = _UNSURE
    return picture


def contact_sheet(pictures: Iterable[UInt8[np.ndarray, "h w 3"]]) -> UInt8[np.ndarray, "h w 3"]:
    """Pictures of one size in rows of eight, small ones enlarged, large ones thinned out."""
    cells = [_sized(picture) for picture in pictures]
    height, width = cells[0].shape[:2]
    rows = -(-len(cells) // _COLUMNS)
    sheet = np.zeros((rows * height, min(len(cells), _COLUMNS) * width, 3), dtype=np.uint8)
    for i, cell in enumerate(cells):
        y, x = divmod(i, _COLUMNS)
        sheet[y * height : (y + 1) * height, x * width : (x + 1) * width] = cell
    return sheet


def _sized(picture: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "h w 3"]:
    factor = max(1, round(_CELL_WIDTH / picture.shape[1]))
    thin = max(1, picture.shape[1] // _CELL_WIDTH)
    return np.ascontiguousarray(picture[::thin, ::thin].repeat(factor, axis=0).repeat(factor, axis=1))
