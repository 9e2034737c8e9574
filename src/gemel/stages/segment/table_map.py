"""A map of the table top: its colours in world coordinates, put together from many views.

Whatever lies in the plane has the same place in the map from every view; whatever stands above it is smeared by
parallax. So the median over views shows the table, with marks and standing shadows, and its spread shows where
something stands.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.geometry import SE3, CameraModel
from gemel.stages.segment.view import View, pixel_rays

_MAX_CELLS = 160_000
_FARTHEST = 3.0
"""Rays that meet the plane this many times farther than the middle ray are left out: they graze it."""


@dataclass(frozen=True, eq=False)
class TableGrid:
    """Square cells on the plane z = height_m of the world."""

    x0_m: float
    y0_m: float
    cell_m: float
    shape: tuple[int, int]
    """Rows along y, columns along x."""
    height_m: float

    def centres(self) -> Float[np.ndarray, "row column 3"]:
        """World coordinates of the cells' centres [m]."""
        rows, columns = self.shape
        x = self.x0_m + self.cell_m * (np.arange(columns) + 0.5)
        y = self.y0_m + self.cell_m * (np.arange(rows) + 0.5)
        points = np.empty((rows, columns, 3))
        points[..., 0], points[..., 1], points[..., 2] = x[None, :], y[:, None], self.height_m
        return points

    def places(self, xy: Float[np.ndarray, "*n 2"]) -> Float[np.ndarray, "*n 2"]:
        """Column and row (fractional, centres at whole numbers) of points of the plane [m]."""
        return (xy - np.array([self.x0_m, self.y0_m])) / self.cell_m - 0.5


def plane_points(model: CameraModel, T_world_camera: SE3, height_m: float) -> Float[np.ndarray, "h w 2"]:
    """Where each pixel's ray meets the plane [m]; NaN where it does not, or only far away."""
    rays_world = T_world_camera.rotation @ pixel_rays(model)
    origin = T_world_camera.translation
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (height_m - origin[2]) / rays_world[..., 2]
    middle = distance[model.height // 2, model.width // 2]
    limit = _FARTHEST * (middle if np.isfinite(middle) and middle > 0 else abs(origin[2] - height_m) + 0.5)
    distance = np.where((distance > 0) & (distance < limit), distance, np.nan)
    return origin[:2] + distance[..., None] * rays_world[..., :2]


def table_grid(views: list[View], height_m: float) -> TableGrid | None:
    """A grid that covers what most of the views see of the plane, in cells of about one pixel; None if none do."""
    points = [p for view in views if (p := _seen(view, height_m)) is not None]
    if not points:
        return None
    low = np.median([np.nanquantile(p, 0.02, axis=(0, 1)) for p in points], axis=0)
    high = np.median([np.nanquantile(p, 0.98, axis=(0, 1)) for p in points], axis=0)
    low = np.minimum(low, np.min([np.nanquantile(p, 0.2, axis=(0, 1)) for p in points], axis=0))
    high = np.maximum(high, np.max([np.nanquantile(p, 0.8, axis=(0, 1)) for p in points], axis=0))
    step = np.median([np.nanmedian(np.linalg.norm(np.diff(p, axis=1), axis=-1)) for p in points])
    extent = np.maximum(high - low, step)
    cell = max(float(step), float(np.sqrt(extent[0] * extent[1] / _MAX_CELLS)))
    columns, rows = np.ceil(extent / cell).astype(int)
    return TableGrid(float(low[0]), float(low[1]), cell, (max(int(rows), 2), max(int(columns), 2)), height_m)


def _seen(view: View, height_m: float) -> Float[np.ndarray, "h w 2"] | None:
    assert view.model is not None
    assert view.T_world_camera is not None
    points = plane_points(view.model, view.T_world_camera, height_m)
    return points if np.isfinite(points[..., 0]).mean() > 0.2 else None


def sample_views(
    layers: list[Float[np.ndarray, "_ _ ..."]],
    views: list[View],
    poses: list[SE3],
    grid: TableGrid,
    hidden: list[Bool[np.ndarray, "_ _"]],
) -> Float[np.ndarray, "view row column *c"]:
    """Each view's layer seen at the grid's cells; NaN outside the image and where the view is hidden."""
    import cv2

    centres = grid.centres()
    samples = []
    for layer, view, pose, mask in zip(layers, views, poses, hidden, strict=True):
        assert view.model is not None
        with np.errstate(invalid="ignore"):
            pixels = view.model.project(pose.inverse() @ centres) - 0.5
        known = np.where(mask[..., None] if layer.ndim == 3 else mask, np.nan, layer).astype(np.float32)
        at = np.nan_to_num(pixels, nan=-9.0).astype(np.float32)
        samples.append(cv2.remap(known, at[..., 0], at[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT,
                                 borderValue=(np.nan,) * 4))  # fmt: skip
    return np.stack(samples)


def median_known(samples: Float[np.ndarray, "n *rest"]) -> Float[np.ndarray, "*rest"]:
    """Median over the first axis of what is known; NaN where nothing is."""
    ordered = np.sort(np.moveaxis(samples, 0, -1), axis=-1)  # NaN goes to the end
    count = np.isfinite(ordered).sum(axis=-1)
    at = np.maximum((count - 1) // 2, 0)[..., None]
    return np.take_along_axis(ordered, at, axis=-1)[..., 0]
