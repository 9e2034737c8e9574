"""What is behind table and robot: free Gaussians on a sphere round the scene.

Their depth is not known and hardly matters: fixed cameras see them from one place. Gaussians that are in some image
but always hidden are filled from their neighbours and marked in `extras["invented"]`.
"""

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.gaussians import Gaussians
from gemel.geometry import SO3
from gemel.services.render.mesh_raster import NOTHING, rasterise
from gemel.services.render.spherical_harmonics import C0
from gemel.stages.reconstruct.scene.bound import DILATION_PX2, OPACITY
from gemel.stages.reconstruct.scene.config import SceneConfig
from gemel.stages.reconstruct.scene.fill import filled
from gemel.stages.reconstruct.scene.response import Responses
from gemel.stages.reconstruct.scene.scene_views import SceneViews
from gemel.stages.reconstruct.scene.sight import look, pixel_values
from gemel.stages.reconstruct.scene.table import Box

_GOLDEN_RAD = np.pi * (3.0 - np.sqrt(5.0))
_OVERLAP = 0.6
"""Standard deviation over spacing."""
_FLATNESS = 0.05
_ROUNDS = 6


def reconstruct_background(
    views: SceneViews, box: "Box | None", height_m: float, responses: Responses, config: SceneConfig
) -> Gaussians | None:
    """Gaussians behind the table's rectangle; None if the table fills all images."""
    middle = np.append(box.mean(axis=0), height_m) if box is not None else _middle(views)
    tables = [_table_pixels(views, v, box, height_m) for v in range(len(views.images))]
    directions = _directions(views, tables, middle, config)
    if not len(directions):
        return None
    points = middle + config.background_distance_m * directions
    sight = look(
        views, lambda v: points, None,
        lambda v, p_camera, pixels: ~pixel_values(views.robot[v] | tables[v], pixels, outside=True),
    )  # fmt: skip
    is_seen = sight.is_seen_enough
    if not is_seen.any():
        return None
    colours = sight.medians(views.camera, responses)
    colours = filled(points, np.where(is_seen[:, None], colours, 0.5), is_seen)
    return _on_sphere(points, directions, np.clip(colours, 0.0, 1.0), ~is_seen)


def _middle(views: SceneViews) -> Float[np.ndarray, "3"]:
    return np.mean([views.centre(int(v)) for v in views.fitted], axis=0)


def _table_pixels(views: SceneViews, v: int, box: "Box | None", height_m: float) -> Bool[np.ndarray, "h w"]:
    """Pixels that show the table's rectangle, widened by one."""
    from scipy.ndimage import binary_dilation

    height, width = views.images[v].shape[:2]
    if box is None:
        return np.zeros((height, width), dtype=bool)
    (x0, y0), (x1, y1) = box
    corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
    p_camera = views.pixels(v, np.column_stack([corners, np.full(4, height_m)]))[0]
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    face = rasterise(p_camera, faces, views.poses.intrinsics[v], width, height)[1]
    return np.asarray(binary_dilation(face != NOTHING))


def _directions(
    views: SceneViews, tables: list[np.ndarray], middle: Float[np.ndarray, "3"], config: SceneConfig
) -> Float[np.ndarray, "n 3"]:
    """Evenly spread directions that some image shows beyond the table, as many as the budget has."""
    count = config.background_gaussians
    kept = np.zeros((0, 3))
    for _ in range(_ROUNDS):
        directions = fibonacci_sphere(count)
        points = middle + config.background_distance_m * directions
        is_shown = np.zeros(count, dtype=bool)
        for v in views.fitted:
            is_shown |= ~pixel_values(tables[v], views.pixels(int(v), points)[1], outside=True)
        if is_shown.sum() <= config.background_gaussians:
            kept = directions[is_shown]
        if not is_shown.any() or is_shown.sum() > 0.9 * config.background_gaussians:
            break
        count = min(int(0.95 * count * config.background_gaussians / is_shown.sum()), 50 * config.background_gaussians)
    return kept


def fibonacci_sphere(count: int) -> Float[np.ndarray, "n 3"]:
    """Unit vectors on a spiral from pole to pole, each with the same share of the sphere."""
    z = 1.0 - 2.0 * (np.arange(count) + 0.5) / count
    angle, r = _GOLDEN_RAD * np.arange(count), np.sqrt(1.0 - z**2)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=-1)


def _on_sphere(
    points: Float[np.ndarray, "n 3"],
    directions: Float[np.ndarray, "n 3"],
    colours: Float[np.ndarray, "n 3"],
    is_invented: Bool[np.ndarray, " n"],
) -> Gaussians:
    from scipy.spatial import cKDTree

    near = cKDTree(points).query(points, k=min(5, len(points)))[0]
    size = _OVERLAP * np.median(near[:, 1:]) if len(points) > 1 else 0.05
    across = np.cross(directions, np.eye(3)[np.argmin(np.abs(directions), axis=1)])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    axes = np.stack([across, np.cross(directions, across), directions], axis=-1)
    return Gaussians(
        means=points.astype(np.float32),
        rotations=SO3.from_matrix(axes).wxyz.astype(np.float32),
        scales=np.tile(size * np.array([1.0, 1.0, _FLATNESS]), (len(points), 1)).astype(np.float32),
        opacities=np.full(len(points), OPACITY, dtype=np.float32),
        sh=((colours - 0.5) / C0)[:, None].astype(np.float32),
        extras={"invented": is_invented[:, None].astype(np.float32)},
        dilation_px2=DILATION_PX2,
    )
