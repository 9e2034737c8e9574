"""What views saw of points: on the table, on a link, far behind; and what colour they are by majority."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.geometry import sample_bilinear
from gemel.stages.reconstruct.scene.response import Responses
from gemel.stages.reconstruct.scene.scene_views import SceneViews

FEWEST_VIEWS = 2
"""Views that must see a point before it counts as seen."""
_LEAST_COSINE = 0.15
"""Cosine of the angle between normal and line of sight below which a view shows too little."""

Visible = Callable[[int, "np.ndarray", "np.ndarray"], "np.ndarray"]
"""Of (view, points in the camera (n, 3), pixels (n, 2)): which points nothing hides."""


@dataclass(frozen=True, eq=False)
class Sight:
    """What f fitted views saw of n points."""

    views: Int[np.ndarray, " f"]
    is_seen: Bool[np.ndarray, "f n"]
    colours: Float[np.ndarray, "f n 3"]
    """As the camera gave them; 0 where it saw nothing."""

    @property
    def is_seen_enough(self) -> Bool[np.ndarray, " n"]:
        """Whether at least `FEWEST_VIEWS` views see the point."""
        return np.asarray(self.is_seen.sum(axis=0) >= FEWEST_VIEWS)

    def medians(self, camera: Int[np.ndarray, " v"], responses: Responses) -> Float[np.ndarray, "n 3"]:
        """Median over views, as the first camera would see them; NaN for points that no view sees."""
        gains, offsets = (table[camera[self.views]][:, None] for table in (responses.gains, responses.offsets))
        plain = (self.colours - offsets) / gains
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # points that are never seen have no median
            return np.asarray(np.nanmedian(np.where(self.is_seen[..., None], plain, np.nan), axis=0))


def look(
    views: SceneViews,
    points: Callable[[int], Float[np.ndarray, "n 3"]],
    normals: "Callable[[int], Float[np.ndarray, 'n 3']] | None",
    visible: Visible,
) -> Sight:
    """What the fitted views see of points (in the world, by view): in the image, turned to it, hidden by nothing."""
    seen, colours = [], []
    for v in views.fitted:
        p_world = points(int(v))
        p_camera, pixels = views.pixels(int(v), p_world)
        colour, is_inside = sample_bilinear(views.images[v], pixels)
        is_inside = is_inside & ~pixel_values(views.taken[v], pixels, outside=True)
        if normals is not None:
            towards = views.centre(int(v)) - p_world
            cosine = np.sum(normals(int(v)) * towards, axis=1) / np.linalg.norm(towards, axis=1)
            is_inside &= cosine > _LEAST_COSINE
        seen.append(is_inside & visible(int(v), p_camera, pixels))
        colours.append(colour)
    return Sight(views.fitted, np.stack(seen), np.stack(colours).astype(np.float64))


def pixel_values(image: np.ndarray, pixels: Float[np.ndarray, "n 2"], *, outside: "bool | float") -> np.ndarray:
    """Values of the pixels that points fall into, `outside` where they fall beside the image."""
    height, width = image.shape
    at = np.where(np.isfinite(pixels), pixels, -1.0)
    columns, rows = np.floor(np.clip(at, -1.0, 1e6)).astype(np.int64).T
    is_inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    return np.where(is_inside, image[np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)], outside)
