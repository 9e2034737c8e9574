"""Reading an image between its pixels.

Pixel centres lie at +0.5: the image covers [0, width] × [0, height].
"""

import numpy as np
from jaxtyping import Bool, Float, UInt8

Image = Float[np.ndarray, "height width *channels"] | UInt8[np.ndarray, "height width *channels"]
Samples = Float[np.ndarray, "..."] | UInt8[np.ndarray, "..."]


def sample_bilinear(image: Image, pixels: Float[np.ndarray, "*batch 2"]) -> tuple[Samples, Bool[np.ndarray, "*batch"]]:
    """Bilinear values of `image` at `pixels` (x, y), shape (*batch, *channels), and where they are valid.

    Invalid are NaN pixels and those outside the image; their value is 0. Within half a pixel of the border
    the outermost pixel is repeated. The data type is kept; uint8 values are rounded.
    """
    size = np.array(image.shape[1::-1])  # (width, height)
    is_inside = np.all((pixels >= 0.0) & (pixels <= size), axis=-1)
    centred = np.clip(np.where(is_inside[..., None], pixels, 0.0) - 0.5, 0.0, size - 1.0)
    low = np.floor(centred).astype(np.int64)
    high = np.minimum(low + 1, size - 1)
    weights = (centred - low).reshape(*centred.shape, *(1,) * (image.ndim - 2))
    wx, wy = np.moveaxis(weights, is_inside.ndim, 0)
    (x0, y0), (x1, y1) = np.moveaxis(low, -1, 0), np.moveaxis(high, -1, 0)
    top = (1.0 - wx) * image[y0, x0] + wx * image[y0, x1]
    bottom = (1.0 - wx) * image[y1, x0] + wx * image[y1, x1]
    values = (1.0 - wy) * top + wy * bottom
    values[~is_inside] = 0.0
    return (np.rint(values) if image.dtype == np.uint8 else values).astype(image.dtype), is_inside


def pixel_centres(width: int, height: int) -> Float[np.ndarray, "height width 2"]:
    """Coordinates (x, y) [px] of all pixel centres; the first is (0.5, 0.5)."""
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    return np.stack([x, y], axis=-1)
