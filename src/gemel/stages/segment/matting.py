"""The edge of a mask to a fraction of a pixel: how much of each pixel on it is object.

A pixel on the edge mixes the object's colour beside it with the background's. Its share of object is where its colour
lies between the two (the compositing equation, Porter and Duff 1984); more than half is in the mask. Colour differences
count more than brightness, which a shadow along the edge changes as well.
"""

import numpy as np
from jaxtyping import Bool, Float

_TURNS = 2
_BAND_PX = 2.0
_CLEAR_PX = 1.5
"""Colours beside the edge are taken from farther away than this: nearer ones are mixed themselves."""
_REACH_PX = 2.0
_LEAST_CONTRAST = 15.0
"""Colours nearer than this [grey levels] cannot be told apart; there the mask stays as it was."""
_AXES = np.array([[1 / 6, 1 / 6, 1 / 6], [1.0, -1.0, 0.0], [0.0, 1.0, -1.0]], dtype=np.float32)
"""Half the mean brightness, red minus green, green minus blue."""


def matted(
    image: np.ndarray, mask: Bool[np.ndarray, "h w"], robot: Bool[np.ndarray, "h w"] | None = None
) -> Bool[np.ndarray, "h w"]:
    """The mask with its edge where pixels are half object; pixels of the robot stay as they were."""
    seen = image.astype(np.float32) @ _AXES.T
    other = np.zeros_like(mask) if robot is None else robot
    for _ in range(_TURNS):
        depth, height = _distance(mask), _distance(~mask)
        front, has_front = _local_mean(seen, depth > _CLEAR_PX)
        back, has_back = _local_mean(seen, (height > _CLEAR_PX) & ~other)
        across = front - back
        square = (across**2).sum(axis=2)
        share = ((seen - back) * across).sum(axis=2) / np.maximum(square, 1.0)
        band = (depth <= _BAND_PX) & (height <= _BAND_PX) & ~other
        mask = np.where(band & has_front & has_back & (square > _LEAST_CONTRAST**2), share > 0.5, mask)
    return mask


def _distance(mask: Bool[np.ndarray, "h w"]) -> Float[np.ndarray, "h w"]:
    import cv2

    return np.asarray(cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 3))


def _local_mean(
    seen: Float[np.ndarray, "h w 3"], where: Bool[np.ndarray, "h w"]
) -> tuple[Float[np.ndarray, "h w 3"], Bool[np.ndarray, "_ _"]]:
    import cv2

    weight = cv2.GaussianBlur(where.astype(np.float32), (0, 0), _REACH_PX)
    total = cv2.GaussianBlur(seen * where[..., None].astype(np.float32), (0, 0), _REACH_PX)
    return total / np.maximum(weight, 1e-4)[..., None], weight > 0.005
