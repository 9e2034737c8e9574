"""The visual hull, carved with tolerance: where the object can be, given its outlines.

Each view says of a point how far outside its outline the point lies, in metres at that depth. The hull's signed
distance is the k-th largest of these, so that k - 1 views may be wrong (bad mask, bad pose) without carving anything
away. Views in which the point is outside the image or hidden do not vote. Zero lies between the voxels' values: the
surface is found to a fraction of a voxel.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32

from gemel.errors import GemelError
from gemel.stages.reconstruct.silhouettes import silhouette_distances
from gemel.stages.reconstruct.views import Views

COARSE_VOXELS = 32
"""Voxels along the longest side of the first two grids, which only find where the object is."""
VOXEL_PX = 0.9
"""Smallest side of a voxel, in pixels at the object's distance."""
WRONG_PART = 0.06
"""Part of the views that may be wrong about a point without carving it away."""
SEEN_PART = 0.3
"""A point that a smaller part of the views sees is not taken for the object."""
FEWEST_VIEWS = 3
"""Fewer outlines do not bound an object."""


@dataclass(frozen=True, eq=False)
class Field:
    """A signed distance on a regular grid, negative inside."""

    values: Float32[np.ndarray, "nx ny nz"]
    """[m]"""
    low: Float[np.ndarray, "3"]
    """Position of the first value [m]."""
    spacing: float
    """[m]"""

    @property
    def points(self) -> Float[np.ndarray, "nx ny nz 3"]:
        """Positions of all values [m]."""
        return self.low + self.spacing * np.moveaxis(np.indices(self.values.shape), 0, -1)


def visual_hull(views: Views, *, voxel_count: int, table_z: float | None) -> Field:
    """Hull of the object, above the table where one is given [m].

    It has `voxel_count` voxels along its longest side, or fewer: voxels much smaller than a pixel tell nothing.
    """
    distances = silhouette_distances(views)
    middle, radius = whereabouts(views)
    low, high = middle - radius, middle + radius
    smallest = VOXEL_PX * pixel_size_m(views, middle)
    for count in (COARSE_VOXELS, COARSE_VOXELS, voxel_count):
        spacing = max(float((high - low).max() / count), smallest)
        counts = np.ceil((high - low) / spacing).astype(np.int64) + 5
        hull = _carve(views, distances, low - 2.0 * spacing, counts, spacing, table_z)
        low, high = _occupied(hull)
    return hull


def pixel_size_m(views: Views, point: Float[np.ndarray, "3"]) -> float:
    """Width of a pixel at a point's distance, in the median over the views [m]."""
    distances = np.linalg.norm(views.Ts_world_camera.translation - point, axis=1)
    return float(np.median(distances / views.intrinsics[:, 0]))


def _carve(
    views: Views,
    distances: Float32[np.ndarray, "v h w"],
    low: Float[np.ndarray, "3"],
    counts: np.ndarray,
    spacing: float,
    table_z: float | None,
) -> Field:
    from gemel.stages.reconstruct.voxel_kernel import vote

    rank = 1 + round(WRONG_PART * len(views))
    fewest = max(FEWEST_VIEWS, round(SEEN_PART * len(views)))
    poses = views.Ts_camera_world
    values = vote(distances, views.ignore, poses, views.intrinsics, (low, counts, spacing), rank, fewest)
    if table_z is not None:
        heights = low[2] + spacing * np.arange(counts[2])
        values = np.maximum(values, (table_z - heights).astype(np.float32))
    for axis in range(3):  # the border of the grid is outside, so that the surface is closed
        for end in (0, -1):
            np.moveaxis(values, axis, 0)[end] = np.maximum(np.moveaxis(values, axis, 0)[end], 0.5 * spacing)
    return Field(_largest_component(values), low, spacing)


def _largest_component(values: Float32[np.ndarray, "nx ny nz"]) -> Float32[np.ndarray, "nx ny nz"]:
    """The same with all smaller pieces turned outside."""
    from scipy.ndimage import label

    pieces, count = label(values < 0.0)
    if count < 2:
        return values
    largest = 1 + np.argmax(np.bincount(pieces.ravel())[1:])
    return np.where((pieces > 0) & (pieces != largest), np.abs(values), values)


def whereabouts(views: Views) -> tuple[Float[np.ndarray, "3"], float]:
    """A ball that holds the object: where rays through the outlines' middles meet, and how wide they look there."""
    seen = [_middle_and_extent(mask * ~ignore) for mask, ignore in zip(views.masks, views.ignore, strict=True)]
    kept = [i for i, (_, extent_px) in enumerate(seen) if extent_px > 0.0]
    if len(kept) < FEWEST_VIEWS:
        raise GemelError(
            f"The object is visible in {len(kept)} of {len(views)} views: at least {FEWEST_VIEWS} are needed.",
            remedy="check the masks, or add views",
        )
    focal, centre = views.intrinsics[kept, :2], views.intrinsics[kept, 2:]
    plane = (np.array([seen[i][0] for i in kept]) - centre) / focal
    rays = np.concatenate([plane, np.ones((len(kept), 1))], axis=1)
    rays = views.Ts_world_camera[kept].rotation @ (rays / np.linalg.norm(rays, axis=1, keepdims=True))
    eyes = views.Ts_world_camera[kept].translation
    across = np.eye(3) - rays[:, :, None] * rays[:, None, :]
    middle = np.linalg.solve(across.sum(axis=0), (across @ eyes[..., None]).sum(axis=0)[:, 0])
    depth = np.linalg.norm(middle - eyes, axis=1)
    radii = np.array([seen[i][1] for i in kept]) * depth / focal.min(axis=1)
    return middle, 1.3 * float(np.quantile(radii, 0.9))


def _middle_and_extent(mask: np.ndarray) -> tuple[Float[np.ndarray, "2"], float]:
    """Middle (x, y) of a mask and the distance from there to its farthest pixel [px]; 0 for an empty one."""
    rows, columns = np.nonzero(mask > 0.5)
    if len(rows) == 0:
        return np.zeros(2), 0.0
    pixels = np.stack([columns, rows], axis=-1) + 0.5
    middle = pixels.mean(axis=0)
    return middle, float(np.linalg.norm(pixels - middle, axis=1).max())


def _occupied(field: Field) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """Corners of the box around what is inside, one voxel wider [m]."""
    inside = np.argwhere(field.values < 0.0)
    if not len(inside):
        raise GemelError(
            "No point in space lies inside the object's outline in all views.",
            remedy="check camera poses and masks: their rays do not meet",
        )
    low, high = inside.min(axis=0) - 1, inside.max(axis=0) + 1
    return field.low + field.spacing * low, field.low + field.spacing * high
