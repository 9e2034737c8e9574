"""What each view would show without object and robot, and how well its pixels agree with that.

Two sources: the table map, which knows the table wherever some view saw it bare, and for a camera that stands still
the median over its own views. Both may be invalid in places (where something always stood); there only the colours of
the table are known. A shadow is the table, darkened without change of hue.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.geometry import SE3
from gemel.stages.segment.appearance import BIN_VOLUME, UNIFORM
from gemel.stages.segment.table_map import TableGrid, plane_points
from gemel.stages.segment.view import View

_NOISE = 5.0
"""Standard deviation of a pixel about the right background [grey levels]."""
_SLOPE_PX = 0.7
"""How far the background may be misplaced [px]; counts where it has an edge."""
_DARKEST = 0.4
"""Shadows darken by no more than this factor."""
_SHADOW_COST = 3.0
"""How much less likely (in log) a shadow is than the bare table."""
_CELL_VOLUME = BIN_VOLUME
"""A density per grey level cubed times this is a probability per colour bin."""


@dataclass(frozen=True, eq=False)
class TableMap:
    """The colours of the table, and where they can be relied on."""

    grid: TableGrid
    colour: Float[np.ndarray, "row column 3"]
    """RGB 0 to 255; NaN where no view saw it."""
    is_bare: Bool[np.ndarray, "row column"]
    """Cells on which nothing stands."""


@dataclass(frozen=True, eq=False)
class Backdrop:
    """A background image and where it is known."""

    colour: Float[np.ndarray, "h w 3"]
    is_known: Bool[np.ndarray, "h w"]


def from_map(view: View, pose: SE3, table: TableMap) -> Backdrop:
    """The bare table as this view would see it, with the view's own vignetting and exposure."""
    import cv2

    assert view.model is not None
    points = plane_points(view.model, pose, table.grid.height_m)
    at = np.nan_to_num(table.grid.places(points), nan=-9.0).clip(-9.0, 1e5).astype(np.float32)
    colour = cv2.remap(table.colour.astype(np.float32), at[..., 0], at[..., 1], cv2.INTER_LINEAR,
                       borderMode=cv2.BORDER_CONSTANT, borderValue=(np.nan,) * 4)  # fmt: skip
    bare = cv2.remap(table.is_bare.astype(np.float32), at[..., 0], at[..., 1], cv2.INTER_LINEAR)
    known = np.isfinite(colour).all(axis=2) & (bare > 0.9)
    colour = np.nan_to_num(colour)
    return Backdrop(colour * view_gain(view.image, colour, known)[..., None], known)


def view_gain(
    image: np.ndarray, backdrop: Float[np.ndarray, "h w 3"], known: Bool[np.ndarray, "h w"]
) -> Float[np.ndarray, "h w"]:
    """Smooth brightness of the view over that of the backdrop: a quadratic in the image's coordinates, robustly fitted.

    Both are gamma-coded, so a factor of light is a factor here too, to the power 1/2.4.
    """
    height, width = known.shape
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    basis = np.stack([np.ones_like(x), x, y, x * x + y * y], axis=-1)
    use = np.zeros_like(known)
    use[::3, ::3] = known[::3, ::3]
    if use.sum() < 50:
        return np.ones((height, width))
    A = basis[use]
    ratio = np.log(image[use].mean(axis=1) + 4.0) - np.log(backdrop[use].mean(axis=1) + 4.0)
    weight = np.ones(len(A))
    beta = np.zeros(A.shape[1])
    for _ in range(4):
        beta = np.linalg.lstsq(A * weight[:, None], ratio * weight, rcond=None)[0]
        off = ratio - A @ beta
        weight = 1.0 / (1.0 + (off / (1.4826 * np.median(np.abs(off)) + 0.01)) ** 2)
    return np.exp(np.clip(basis @ beta, -0.7, 0.7))


def background_log_likelihood(image: np.ndarray, backdrop: Backdrop) -> Float[np.ndarray, "h w"]:
    """Log probability of each pixel's colour bin as background, lit or in shadow; very low where unknown."""
    colour, seen = backdrop.colour, image.astype(np.float64)
    slope = sum(np.hypot(*np.gradient(colour[..., c])) for c in range(3)) / 3.0
    sigma = np.hypot(_NOISE, _SLOPE_PX * slope)
    shade = (seen * colour).sum(axis=2) / np.maximum((colour * colour).sum(axis=2), 1.0)
    shade = np.clip(shade, _DARKEST, 1.0)
    lit = ((seen - colour) ** 2).sum(axis=2)
    shadow = ((seen - shade[..., None] * colour) ** 2).sum(axis=2)
    exponent = np.minimum(lit / sigma**2, shadow / sigma**2 + 2.0 * _SHADOW_COST)
    log_p = -0.5 * exponent - 1.5 * np.log(2.0 * np.pi * sigma**2) + np.log(_CELL_VOLUME)
    return np.where(backdrop.is_known, log_p, 10.0 * UNIFORM)


def camera_median(views: list[View], hidden: list[Bool[np.ndarray, "_ _"]]) -> Backdrop:
    """The median over the views of a camera that stands still, where at least a few of them see past the robot."""
    from gemel.stages.segment.table_map import median_known

    pairs = zip(views, hidden, strict=True)
    stack = np.stack([np.where(mask[..., None], np.nan, view.image.astype(np.float32)) for view, mask in pairs])
    count = np.isfinite(stack[..., 0]).sum(axis=0)
    colour = median_known(stack)
    return Backdrop(np.nan_to_num(colour), (count >= max(3, len(views) // 10)) & np.isfinite(colour[..., 0]))
