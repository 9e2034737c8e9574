"""Render and compare: how far a model's outline is from the mask's in each view, and the step that brings it there."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from gemel.services.render.mesh_raster import NOTHING, rasterise
from gemel.stages.reconstruct.generated.similarity_pose import SimilarityPose
from gemel.stages.reconstruct.remesh import Mesh
from gemel.stages.reconstruct.views import Views

_POINTS = 120
"""Outline points of a view, at most."""
_FINER = 3
"""Outlines are drawn this many times finer than the image."""
_TABLE_SIGMA_M = 5e-4
_REST_SIGMA = 0.3
"""How far the place may leave its start, relative to the distance: what no view tells stays."""
_DAMPING = 1e-3
_LARGEST_PX = 12.0


@dataclass(frozen=True, eq=False)
class Scene:
    """What the model is compared with."""

    views: Views
    distances: Float32[np.ndarray, "v h w"]
    """Signed distances to the masks' outlines [px]."""
    table_z: float | None
    """Height on which the lowest point rests [m]."""
    start: Float[np.ndarray, "3"]
    """Where the object was first thought to be [m]."""


def outline_step(mesh: Mesh, pose: SimilarityPose, scene: Scene, chosen: Int[np.ndarray, " n"]) -> SimilarityPose:
    """One Gauss-Newton step on the outlines of the chosen views."""
    rows = [_view_rows(mesh, pose, scene, int(v)) for v in chosen]
    residual = np.concatenate([r for r, _ in rows])
    J = np.concatenate([j for _, j in rows])
    weight = 1.0 / (1.0 + (residual / _LARGEST_PX) ** 2)
    H = J.T @ (weight[:, None] * J)
    g = J.T @ (weight * residual)
    for extra, slope, sigma in _beliefs(mesh, pose, scene):
        H += np.outer(slope, slope) / sigma**2
        g += slope * extra / sigma**2
    H += _DAMPING * np.diag(np.diag(H) + 1e-9)
    return pose.moved(-np.linalg.solve(H, g))


def _view_rows(mesh: Mesh, pose: SimilarityPose, scene: Scene, v: int) -> tuple[np.ndarray, np.ndarray]:
    from scipy.ndimage import binary_erosion, map_coordinates

    views = scene.views
    T, k = views.Ts_camera_world[v], views.intrinsics[v]
    p_camera = pose(mesh[0]) @ T[:3, :3].T + T[:3, 3]
    depth, face = rasterise(p_camera, mesh[1], _FINER * k, _FINER * views.width, _FINER * views.height)
    covered = face != NOTHING
    rows, columns = np.nonzero(covered & ~binary_erosion(covered, border_value=1))
    is_known = ~views.ignore[v][rows // _FINER, columns // _FINER]
    rows, columns = rows[is_known], columns[is_known]
    if len(rows) < 5:
        return np.zeros(0), np.zeros((0, 7))
    kept = np.linspace(0, len(rows) - 1, min(_POINTS, len(rows))).astype(np.int64)
    rows, columns = rows[kept], columns[kept]
    z, u, w = depth[rows, columns], (columns + 0.5) / _FINER, (rows + 0.5) / _FINER
    x, y = (u - k[2]) / k[0] * z, (w - k[3]) / k[1] * z
    slope_y, slope_x = np.gradient(scene.distances[v])
    images = (slope_x, slope_y, scene.distances[v])
    gx, gy, at = (map_coordinates(image, [w - 0.5, u - 0.5], order=1, mode="nearest") for image in images)
    residual = at.astype(np.float64) + 0.5 / _FINER  # the outline runs half a fine pixel outside the rim's centres
    by_point = np.stack([gx * k[0] / z, gy * k[1] / z, -(gx * k[0] * x + gy * k[1] * y) / z**2], axis=-1) @ T[:3, :3]
    p_world = (np.stack([x, y, z], axis=-1) - T[:3, 3]) @ T[:3, :3]
    return residual, _by_pose(by_point, p_world - pose.t_world)


def _by_pose(by_point: Float[np.ndarray, "n 3"], arm: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 7"]:
    """Slopes by shift, turn and log scale, from slopes by the point's motion in the world."""
    return np.concatenate(
        [by_point, np.cross(arm, by_point), np.sum(by_point * arm, axis=1, keepdims=True)], axis=1
    )  # fmt: skip


def _beliefs(mesh: Mesh, pose: SimilarityPose, scene: Scene) -> list[tuple[float, np.ndarray, float]]:
    """Residual, slope and sigma of what is believed besides the images."""
    eye = scene.views.Ts_world_camera.translation.mean(axis=0)
    distance = float(np.linalg.norm(scene.start - eye))
    found = []
    for axis in range(3):
        slope = np.zeros(7)
        slope[axis] = 1.0
        found.append((float(pose.t_world[axis] - scene.start[axis]), slope, _REST_SIGMA * distance))
    if scene.table_z is not None:
        world = pose(mesh[0])
        lowest = int(np.argmin(world[:, 2]))
        slope = _by_pose(np.array([[0.0, 0.0, 1.0]]), world[lowest][None] - pose.t_world)[0]
        found.append((float(world[lowest, 2] - scene.table_z), slope, _TABLE_SIGMA_M))
    return found


def overlap(mesh: Mesh, pose: SimilarityPose, views: Views, chosen: Int[np.ndarray, " n"]) -> float:
    """Mean overlap (IoU) of the model's outline and the masks over views, where neither is ignored."""
    parts = []
    for v in chosen:
        covered, known = _covered(mesh, pose, views, int(v)), ~views.ignore[v]
        mask = views.masks[v] > 0.5
        parts.append((covered & mask & known).sum() / max(int(((covered | mask) & known).sum()), 1))
    return float(np.mean(parts))


def _covered(mesh: Mesh, pose: SimilarityPose, views: Views, v: int) -> Bool[np.ndarray, "h w"]:
    T = views.Ts_camera_world[v]
    p_camera = pose(mesh[0]) @ T[:3, :3].T + T[:3, 3]
    return rasterise(p_camera, mesh[1], views.intrinsics[v], views.width, views.height)[1] != NOTHING
