"""Signed distances to the silhouettes, in pixels: how far outside (positive) or inside the object each pixel lies.

What a view ignores is neither: the distance is then to what the view is sure of, on either side, so that a robot in
front of the object carves nothing and keeps nothing.
"""

import numpy as np
from jaxtyping import Float32

from gemel.stages.reconstruct.views import Views


def silhouette_distances(views: Views) -> Float32[np.ndarray, "v h w"]:
    """Signed distance [px] of every pixel centre to the object's outline in its view, negative inside.

    Within a pixel of the outline the soft mask itself tells where the outline crosses, better than the grid can.
    """
    return np.stack(
        [_signed_distance(mask, ignore) for mask, ignore in zip(views.masks, views.ignore, strict=True)]
    ).astype(np.float32)


def _signed_distance(mask: np.ndarray, ignore: np.ndarray) -> np.ndarray:
    from scipy.ndimage import distance_transform_edt

    largest = float(np.hypot(*mask.shape))
    is_object, is_other = (mask > 0.5) & ~ignore, (mask <= 0.5) & ~ignore
    # Distances to pixels that are surely the one or surely the other; without any, the farthest there can be.
    to_other = distance_transform_edt(~is_other) if is_other.any() else np.full(mask.shape, largest)
    maybe_object = is_object | ignore
    to_object = distance_transform_edt(~maybe_object) if maybe_object.any() else np.full(mask.shape, largest)
    signed = np.where(is_other, to_object - 0.5, 0.5 - to_other)
    is_edge = (mask > 0.02) & (mask < 0.98) & ~ignore & (np.abs(signed) < 1.0)
    return np.where(is_edge, 0.5 - mask, signed)
