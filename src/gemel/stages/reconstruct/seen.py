"""Which part of a surface was seen, and which is invented; and the colours that the views saw there."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.geometry import SE3, sample_bilinear, vertex_normals
from gemel.services.render.mesh_raster import rasterise
from gemel.stages.reconstruct.views import Views

FEWEST_VIEWS = 2
"""Views that must see a point before it counts as seen."""
LARGEST_ANGLE_DEG = 80.0
"""Angle between a surface's normal and the line of sight beyond which a view shows too little of it."""


@dataclass(frozen=True, eq=False)
class Sight:
    """What views saw of points on a surface."""

    is_seen: Bool[np.ndarray, "v n"]
    """Whether each view sees each point."""
    colours: Float[np.ndarray, "v n 3"]
    """What it saw there, 0 to 1; 0 where it saw nothing."""

    @property
    def is_seen_enough(self) -> Bool[np.ndarray, " n"]:
        """Whether at least `FEWEST_VIEWS` views see the point, or the only view if there is but one."""
        return np.asarray(self.is_seen.sum(axis=0) >= min(FEWEST_VIEWS, len(self.is_seen)))

    def median_colours(self) -> Float[np.ndarray, "n 3"]:
        """Median over the views that see each point; the median of all others for points that none sees."""
        colours = np.where(self.is_seen[..., None], self.colours, np.nan)
        found = self.is_seen.any(axis=0)
        result = np.empty(colours.shape[1:])
        result[found] = np.nanmedian(colours[:, found], axis=0)
        result[~found] = np.median(result[found], axis=0) if found.any() else 0.5
        return result


def look_at_points(
    views: Views,
    Ts_camera_world: Float[np.ndarray, "v 4 4"],
    vertices: Float[np.ndarray, "w 3"],
    faces: Int[np.ndarray, "f 3"],
    points: Float[np.ndarray, "n 3"],
    normals: Float[np.ndarray, "n 3"],
) -> Sight:
    """What each view sees of `points` on the mesh: inside the image, turned towards it, not hidden, not ignored.

    Hidden is what lies behind the mesh's own depth by more than its edges' roughness can explain.
    """
    tolerance_m = 0.5 * _mean_edge(vertices, faces)
    seen, colours = [], []
    for i in range(len(views)):
        T_camera_world = SE3.from_matrix(Ts_camera_world[i])
        p_camera = T_camera_world @ points
        fx, fy, cx, cy = views.intrinsics[i]
        z = np.maximum(p_camera[:, 2], 1e-6)
        pixels = np.stack([fx * p_camera[:, 0] / z + cx, fy * p_camera[:, 1] / z + cy], axis=-1)
        depth, _ = rasterise(T_camera_world @ vertices, faces, views.intrinsics[i], views.width, views.height)
        at_depth, is_inside = _nearest_pixel(depth, pixels)
        is_ignored, _ = _nearest_pixel(views.ignore[i], pixels)
        towards = -np.sum((T_camera_world.rotation @ normals) * p_camera, axis=1) / np.linalg.norm(p_camera, axis=1)
        is_turned = towards > np.cos(np.radians(LARGEST_ANGLE_DEG))
        seen.append(is_inside & is_turned & ~is_ignored & (p_camera[:, 2] <= at_depth + tolerance_m))
        colours.append(sample_bilinear(views.images[i], pixels)[0])
    return Sight(np.stack(seen), np.stack(colours).astype(np.float64))


def seen_vertices(
    views: Views,
    Ts_camera_world: Float[np.ndarray, "v 4 4"],
    vertices: Float[np.ndarray, "w 3"],
    faces: Int[np.ndarray, "f 3"],
    *,
    table_z: float | None,
) -> Bool[np.ndarray, " w"]:
    """Which vertices at least two views see; what rests on the table is invented, whatever its edge looks like."""
    normals = vertex_normals(vertices, faces)
    is_seen = look_at_points(views, Ts_camera_world, vertices, faces, vertices, normals).is_seen_enough
    if table_z is None:
        return is_seen
    return is_seen & ~((vertices[:, 2] <= table_z + 1e-6) & (normals[:, 2] < -0.7))


def _nearest_pixel(image: np.ndarray, pixels: Float[np.ndarray, "n 2"]) -> tuple[np.ndarray, Bool[np.ndarray, " n"]]:
    """Values of the pixels that points fall into, and whether they fall into the image at all."""
    height, width = image.shape
    columns, rows = np.floor(pixels).astype(np.int64).T
    is_inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    return image[np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)], is_inside


def _mean_edge(vertices: np.ndarray, faces: np.ndarray) -> float:
    corners = vertices[faces]
    return float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).mean())
