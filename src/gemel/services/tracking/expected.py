"""What a camera should see if the object were at a pose, and how that changes when the object moves in the image.

Light is not modelled but taken from the image itself: beside the object, the surroundings are made as bright as what is
near by (shadows move with object and arm); on the object, each group of faces that look one way is made as bright as
the image shows it near by. What remains are outlines, edges between faces and texture, and those tell the pose.
After the local statistics of Hanek and Beetz's contracting curve density algorithm (2004).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32

from gemel.services.tracking.tracked_object import Drawing
from gemel.services.tracking.view import View

_MARGIN_PX = 7
"""Pixels round the object that are looked at."""
_OUTSIDE_SIGMA_PX = 4.0
_INSIDE_SIGMA_PX = 6.0
"""Over so many pixels light is averaged, beside the object and on it."""
_TRUST_IN_COMMON = 0.01
"""How much the light of the whole area counts where nothing near by is lit alike, against one pixel of white."""
_LEAST_GROUP_PX = 6
_NO_PART = 1e-4
"""Less of a group of faces than this is none of it."""
_LEAST_PX = 30
_ROBOT_GAP_M = 0.003
_ROBOT_MARGIN_PX = 2

Image = Float32[np.ndarray, "h w 3"]


@dataclass(frozen=True, eq=False)
class Light:
    """How the light of one view falls on object and surroundings, in a cut-out round the object."""

    cut: tuple[slice, slice]
    """Rows and columns of the cut-out."""
    outside: Image
    """The surroundings as bright as they are now."""
    factor: Image
    summand: Image
    """The object's colours now are its own times the factor plus the summand."""
    depth_m: Float32[np.ndarray, "h w"]
    """Of the object, continued a little beyond its outline."""
    is_used: Bool[np.ndarray, "h w"]
    """Pixels that can tell: seen, and not behind or beside the robot."""
    object_px: int
    """How many pixels the object would cover."""
    visible_px: int
    """How many of them are not hidden."""


@dataclass(frozen=True, eq=False)
class Expected:
    """What should be seen in a cut-out of one view, against what is."""

    light: Light
    residual: Image
    """Image minus what should be there."""
    slope_x: Image
    slope_y: Image
    """By how much what should be there falls when the object moves right or down by a pixel."""


def expect(view: View, drawing: Drawing) -> Expected | None:
    """What the view should show with the object as drawn; None where it is out of sight."""
    light = light_of(view, drawing)
    if light is None:
        return None
    coverage = drawing.coverage[light.cut]
    shown = drawing.colour[light.cut] * light.factor + coverage[..., None] * light.summand
    d_shown, d_coverage = np.gradient(shown, axis=(0, 1)), np.gradient(coverage)
    return Expected(
        light=light,
        residual=view.image[light.cut] - shown - (1.0 - coverage)[..., None] * light.outside,
        slope_x=d_shown[1] - light.outside * d_coverage[1][..., None],
        slope_y=d_shown[0] - light.outside * d_coverage[0][..., None],
    )


def light_of(view: View, drawing: Drawing) -> Light | None:
    """The light in a view, going by where the object is drawn; None where that is out of sight."""
    rows, columns = np.nonzero(drawing.coverage > 0.01)
    if len(rows) < _LEAST_PX:
        return None
    cut = np.s_[
        max(rows.min() - _MARGIN_PX, 0) : min(rows.max() + _MARGIN_PX + 1, view.shape[0]),
        max(columns.min() - _MARGIN_PX, 0) : min(columns.max() + _MARGIN_PX + 1, view.shape[1]),
    ]
    image, coverage, robot_depth = view.image[cut], drawing.coverage[cut], view.robot_depth[cut]
    depth, is_near = _continued(drawing.depth[cut], coverage)
    is_robot, is_known = np.isfinite(robot_depth), view.is_known[cut]
    is_hidden = _widened(is_robot & (robot_depth < depth + _ROBOT_GAP_M), _ROBOT_MARGIN_PX)
    is_beside = _widened(is_robot, 1) & (coverage < 0.9)
    is_clear = is_known & ~_widened(is_robot, _ROBOT_MARGIN_PX)
    surroundings, is_object = view.surroundings[cut], coverage > 0.5
    factor, summand = _light_on_object(image, drawing, cut, (coverage > 0.95) & is_known & ~is_hidden)
    return Light(
        cut=cut,
        outside=surroundings * _gain(image, surroundings, (coverage < 0.02) & is_clear, _OUTSIDE_SIGMA_PX),
        factor=factor,
        summand=summand,
        depth_m=depth,
        is_used=is_near & is_known & ~is_hidden & ~is_beside,
        object_px=int(np.count_nonzero(is_object)),
        visible_px=int(np.count_nonzero(is_object & is_known & ~is_hidden)),
    )


def smoothed(values: np.ndarray, sigma_px: float) -> np.ndarray:
    """Gaussian smoothing over the first two axes."""
    from scipy.ndimage import gaussian_filter

    sigmas = (sigma_px, sigma_px, *(0,) * (values.ndim - 2))
    return np.asarray(gaussian_filter(values, sigmas, mode="nearest", truncate=3.0))


def _widened(mask: Bool[np.ndarray, "h w"], by_px: int) -> Bool[np.ndarray, "h w"]:
    from scipy.ndimage import binary_dilation

    return np.asarray(binary_dilation(mask, iterations=by_px)) if mask.any() else mask


def _continued(depth: np.ndarray, coverage: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Depth also just outside the object, and where that is known."""
    weight = smoothed(coverage * (depth > 0.0), 2.0)
    spread = smoothed(depth * coverage, 2.0) / np.maximum(weight, 1e-9)
    return np.where(coverage > 0.5, depth, spread).astype(np.float32), weight > 1e-6


def _gain(image: Image, model: Image, is_taken: Bool[np.ndarray, "h w"], sigma_px: float) -> Image:
    """How much brighter, channel by channel, the image is near by than the model, going by the pixels taken."""
    if np.count_nonzero(is_taken) < _LEAST_GROUP_PX:
        return np.ones_like(model)
    weight = is_taken[..., None].astype(np.float32)
    seen, known = image * weight, model * weight
    common = seen.sum(axis=(0, 1)) / np.maximum(known.sum(axis=(0, 1)), 1e-6)
    both = smoothed(np.concatenate([seen, known], axis=-1), sigma_px)
    return (both[..., :3] + _TRUST_IN_COMMON * common) / (both[..., 3:] + _TRUST_IN_COMMON)


def _box(mask: Bool[np.ndarray, "h w"]) -> tuple[slice, slice]:
    """Rows and columns that hold a mask, and one more on each side."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return slice(max(rows[0] - 1, 0), rows[-1] + 2), slice(max(columns[0] - 1, 0), columns[-1] + 2)


def _light_on_object(
    image: Image, drawing: Drawing, cut: tuple[slice, slice], is_inner: Bool[np.ndarray, "h w"]
) -> tuple[Image, Image]:
    """Factor and summand that take the object's own colours to those under the light that falls on it now.

    Where it is brighter now than when it was reconstructed, light is added instead of multiplied: the noise of colours
    that were seen in the dark must not grow with them.
    """
    coverage, groups = drawing.coverage[cut], drawing.groups[cut]
    own = drawing.colour[cut] / np.maximum(coverage, 0.05)[..., None]
    common = np.ones(3, dtype=np.float32)
    if np.count_nonzero(is_inner) >= _LEAST_GROUP_PX:
        common = image[is_inner].sum(axis=0) / np.maximum(own[is_inner].sum(axis=0), 1e-6)
    factor, summand, share = np.zeros_like(own), np.zeros_like(own), np.zeros_like(coverage)
    for group in np.flatnonzero(groups.reshape(-1, groups.shape[-1]).max(axis=0) > 0.3):
        at = _box(groups[..., group] > _NO_PART)  # light is averaged over the group's own pixels: others are not needed
        part = groups[at][..., group]
        is_part = is_inner[at] & (part > 0.8)
        gain: np.ndarray = common
        if np.count_nonzero(is_part) >= _LEAST_GROUP_PX:
            gain, mean = _gain(image[at], own[at], is_part, _INSIDE_SIGMA_PX), own[at][is_part].mean(axis=0)
            summand[at] += part[..., None] * np.maximum(gain - 1.0, 0.0) * mean
            gain = np.minimum(gain, 1.0)
        factor[at] += part[..., None] * gain
        share[at] += part
    is_any = share[..., None] > 1e-3
    share = np.maximum(share, 1e-3)[..., None]
    return np.where(is_any, factor / share, common).astype(np.float32), (summand / share).astype(np.float32)
