"""What is behind table and robot: free Gaussians on a sphere round the scene.

Their depth is not known and hardly matters: fixed cameras see them from one place. Gaussians that are in some image
but always hidden, and those that close the sphere where no image looks, are filled from their neighbours and marked in
`extras["invented"]`.
"""

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.gaussians import Gaussians
from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SO3
from gemel.services.render.mesh_raster import NOTHING, rasterise
from gemel.services.render.spherical_harmonics import C0
from gemel.stages.reconstruct.scene.bound import DILATION_PX2, OPACITY
from gemel.stages.reconstruct.scene.config import SceneConfig
from gemel.stages.reconstruct.scene.fill import filled
from gemel.stages.reconstruct.scene.response import Responses
from gemel.stages.reconstruct.scene.scene_views import SceneViews
from gemel.stages.reconstruct.scene.sight import look, pixel_values

_GOLDEN_RAD = np.pi * (3.0 - np.sqrt(5.0))
_OVERLAP = 0.6
"""Standard deviation over spacing."""
_FLATNESS = 0.05
_SHELL = 0.1
"""Part of the Gaussians that close the sphere all round, behind the others: no view may look into nothing."""
_BEHIND = 1.05
_LONE_M = 0.05
_COARSE = 20000
"""Directions all round that are tried first."""


def reconstruct_background(
    views: SceneViews, table: SplatMesh | None, responses: Responses, config: SceneConfig
) -> Gaussians | None:
    """Gaussians behind the table; None if the table fills all images."""
    middle = np.median(table.vertices, axis=0) if table is not None else _middle(views)
    tables = [_table_pixels(views, v, table) for v in range(len(views.images))]
    directions = _directions(views, tables, middle, config)
    if not len(directions):
        return None
    points = middle + config.background_distance_m * directions
    sight = look(
        views, lambda v: points, None,
        lambda v, p_camera, pixels: ~pixel_values(views.robot[v] | tables[v], pixels, outside=True),
    )  # fmt: skip
    if not sight.is_seen_enough.any():
        return None
    shell = fibonacci_sphere(int(_SHELL * config.background_gaussians))
    places = np.concatenate([points, middle + _BEHIND * config.background_distance_m * shell])
    is_seen = np.concatenate([sight.is_seen_enough, np.zeros(len(shell), dtype=bool)])
    colours = np.full((len(places), 3), 0.5)
    colours[: len(points)] = sight.medians(views.camera, responses)
    colours = np.clip(filled(places, np.where(is_seen[:, None], colours, 0.5), is_seen), 0.0, 1.0)
    sizes = np.concatenate([np.full(len(group), _size(group)) for group in (points, places[len(points) :])])
    return _on_sphere(places, np.concatenate([directions, shell]), sizes, colours, ~is_seen)


def _middle(views: SceneViews) -> Float[np.ndarray, "3"]:
    return np.mean([views.centre(int(v)) for v in views.fitted], axis=0)


def _table_pixels(views: SceneViews, v: int, table: SplatMesh | None) -> Bool[np.ndarray, "h w"]:
    """Pixels that show the table, widened by one."""
    from scipy.ndimage import binary_dilation

    height, width = views.images[v].shape[:2]
    if table is None:
        return np.zeros((height, width), dtype=bool)
    p_camera = views.pixels(v, table.vertices)[0]
    face = rasterise(p_camera, table.faces, views.poses.intrinsics[v], width, height)[1]
    return np.asarray(binary_dilation(face != NOTHING))


def _directions(
    views: SceneViews, tables: list[np.ndarray], middle: Float[np.ndarray, "3"], config: SceneConfig
) -> Float[np.ndarray, "n 3"]:
    """Evenly spread directions that some image shows beyond the table, as many as the budget has."""
    from scipy.spatial import cKDTree

    def shown(directions: Float[np.ndarray, "n 3"]) -> Bool[np.ndarray, " n"]:
        points, is_shown = middle + config.background_distance_m * directions, np.zeros(len(directions), dtype=bool)
        for v in views.distinct:
            is_shown |= ~pixel_values(tables[v], views.pixels(int(v), points)[1], outside=True)
        return is_shown

    budget = int((1.0 - _SHELL) * config.background_gaussians)
    coarse = fibonacci_sphere(_COARSE)
    coarse = coarse[shown(coarse)]
    if not len(coarse):
        return coarse
    tree, count = cKDTree(coarse), int(budget * _COARSE / len(coarse))
    while True:
        fine = fibonacci_sphere(count)
        fine = fine[tree.query(fine, distance_upper_bound=2.0 * np.sqrt(4.0 * np.pi / _COARSE))[0] < np.inf]
        fine = fine[shown(fine)]
        if len(fine) <= budget:
            return fine
        count = int(0.98 * count * budget / len(fine))


def fibonacci_sphere(count: int) -> Float[np.ndarray, "n 3"]:
    """Unit vectors on a spiral from pole to pole, each with the same share of the sphere."""
    z = 1.0 - 2.0 * (np.arange(count) + 0.5) / count
    angle, r = _GOLDEN_RAD * np.arange(count), np.sqrt(1.0 - z**2)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=-1)


def _size(points: Float[np.ndarray, "n 3"]) -> float:
    """Standard deviation with which Gaussians at these points cover what is between them [m]."""
    from scipy.spatial import cKDTree

    near = cKDTree(points).query(points, k=2)[0][:, 1]
    return _OVERLAP * float(np.median(near[np.isfinite(near)])) if len(points) > 1 else _LONE_M


def _on_sphere(
    points: Float[np.ndarray, "n 3"],
    directions: Float[np.ndarray, "n 3"],
    sizes_m: Float[np.ndarray, " n"],
    colours: Float[np.ndarray, "n 3"],
    is_invented: Bool[np.ndarray, " n"],
) -> Gaussians:
    """Flat round Gaussians that face the middle of the sphere."""
    across = np.cross(directions, np.eye(3)[np.argmin(np.abs(directions), axis=1)])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    axes = np.stack([across, np.cross(directions, across), directions], axis=-1)
    return Gaussians(
        means=points.astype(np.float32),
        rotations=SO3.from_matrix(axes).wxyz.astype(np.float32),
        scales=(sizes_m[:, None] * np.array([1.0, 1.0, _FLATNESS])).astype(np.float32),
        opacities=np.full(len(points), OPACITY, dtype=np.float32),
        sh=((colours - 0.5) / C0)[:, None].astype(np.float32),
        extras={"invented": is_invented[:, None].astype(np.float32)},
        dilation_px2=DILATION_PX2,
    )
