"""The robot in view as a ruler: its model's outline against where the image says that the robot ends.

After Harris and Stennett's RAPID (1990): from each point of the predicted outline, look along the normal for the edge;
only that distance counts. Edges are looked for in an indicator image that is linear in coverage by the robot, so that
the edge lies where the indicator is half-way between inside and outside, also when blurred.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.services.kinematics.robot_surface import RobotSurface
from gemel.services.render.mesh_raster import NOTHING, rasterise
from gemel.stages.reconstruct.calibration.observed import Rows, pixel_rows, robust_sigma, tukey_weight
from gemel.stages.reconstruct.calibration.robot_rig import PoseJacobians

_FINER = 4
"""The outline is drawn this many times finer than the image."""
_POINTS = 160
"""At most so many outline points in a view."""
_REPEATS = 3.0
"""Outline points are closer to each other than the images' blur; so many tell the same."""
_WINDOW_PX = 2.0
"""Length over which inside and outside are averaged."""
_STEP_PX = 0.25
_LEAST_SIGMA_PX = 0.1


@dataclass(frozen=True, eq=False)
class Indicator:
    """Where the robot is in one view, as far as the image tells."""

    value: Float[np.ndarray, "h w"]
    """Large where the robot is, small where it is not, linear in between."""
    is_valid: Bool[np.ndarray, "h w"]
    least_contrast: float
    """Smaller steps are noise."""


@dataclass(frozen=True, eq=False)
class _Outline:
    """Points on the predicted outline of one view."""

    pixels: Float[np.ndarray, "n 2"]
    normals: Float[np.ndarray, "n 2"]
    """Outward, unit length."""
    p_camera: Float[np.ndarray, "n 3"]
    link: Int[np.ndarray, " n"]


def contour_rows(
    surface: RobotSurface, indicator: Indicator, jacobians: PoseJacobians, v: int, *, reach_px: float
) -> Rows | None:
    """Signed distances [px] from the observed to the predicted outline in view v; None if no edge was found."""
    outline = _outline(surface, jacobians, v, indicator.value.shape)
    if outline is None:
        return None
    shift, is_found = _edges(indicator, outline, reach_px)
    if is_found.sum() < 5:
        return None
    chosen = np.flatnonzero(is_found)
    residual = -shift[chosen]
    J = _outline_jacobian(outline, chosen, jacobians, v)
    sigma = robust_sigma(residual, least=_LEAST_SIGMA_PX)
    weight = tukey_weight(residual, max(sigma, 0.25 * reach_px)) / _REPEATS
    return Rows(residual, J, weight, np.full(len(chosen), v), sigma, "outline")


def _outline(surface: RobotSurface, jacobians: PoseJacobians, v: int, shape: tuple[int, int]) -> _Outline | None:
    from scipy.ndimage import binary_erosion, gaussian_filter

    poses = jacobians.poses
    T, k = poses.Ts_camera_world[v], poses.intrinsics[v]
    p_world = surface.in_world(poses.Ts_world_link[v])
    height, width = _FINER * shape[0], _FINER * shape[1]
    depth, face = rasterise(p_world @ T[:3, :3].T + T[:3, 3], surface.faces, _FINER * k, width, height, near_m=0.03)
    is_robot = face != NOTHING
    is_edge = is_robot & ~binary_erosion(is_robot, border_value=1)
    rows, columns = np.nonzero(is_edge)
    if len(rows) < 5:
        return None
    chosen = np.linspace(0, len(rows) - 1, min(_POINTS, len(rows))).astype(np.int64)
    rows, columns = rows[chosen], columns[chosen]
    soft = gaussian_filter(is_robot.astype(np.float32), 1.5 * _FINER, mode="nearest")
    outward = -np.stack([g[rows, columns] for g in np.gradient(soft)[::-1]], axis=-1)
    normals = outward / np.maximum(np.linalg.norm(outward, axis=1, keepdims=True), 1e-9)
    # The outline runs half a fine pixel outside the centre of the last covered one.
    fine = np.stack([columns + 0.5, rows + 0.5], axis=-1) + 0.5 * normals
    pixels, z = fine / _FINER, depth[rows, columns]
    p_camera = np.stack([(pixels[:, 0] - k[2]) / k[0] * z, (pixels[:, 1] - k[3]) / k[1] * z, z], axis=-1)
    link = surface.link_from_vertex[surface.faces[face[rows, columns], 0]]
    return _Outline(pixels, normals, p_camera, link)


def _edges(indicator: Indicator, outline: _Outline, reach_px: float) -> tuple[np.ndarray, np.ndarray]:
    """How far along its normal each point's edge lies [px], and whether one was found."""
    from scipy.ndimage import map_coordinates

    window = int(_WINDOW_PX / _STEP_PX)
    count = int(np.ceil(reach_px / _STEP_PX)) + window
    steps = np.arange(-count, count + 1) * _STEP_PX
    at = outline.pixels[:, None] + steps[:, None] * outline.normals[:, None]
    where = [at[..., 1] - 0.5, at[..., 0] - 0.5]
    profile = map_coordinates(indicator.value, where, order=1, mode="nearest")
    height, width = indicator.value.shape
    is_inside = ((at > 1.0) & (at < [width - 1.0, height - 1.0])).all(axis=(1, 2))
    is_inside &= (
        map_coordinates(indicator.is_valid.astype(np.float32), where, order=0, mode="nearest").min(axis=1) > 0.5
    )
    sums = np.cumsum(np.pad(profile, ((0, 0), (1, 0))), axis=1)
    middle = np.arange(window, len(steps) - window)
    inner = (sums[:, middle] - sums[:, middle - window]) / window
    outer = (sums[:, middle + window + 1] - sums[:, middle + 1]) / window
    best = np.argmax(inner - outer, axis=1)
    rows = np.arange(len(best))
    contrast = (inner - outer)[rows, best]
    level = 0.5 * (inner + outer)[rows, best]
    shift = _crossing(profile, steps, middle[best], level, window)
    is_found = is_inside & (contrast > indicator.least_contrast) & np.isfinite(shift) & (np.abs(shift) <= reach_px)
    return np.where(is_found, shift, 0.0), is_found


def _crossing(
    profile: Float[np.ndarray, "n s"], steps: Float[np.ndarray, " s"], start: Int[np.ndarray, " n"],
    level: Float[np.ndarray, " n"], window: int,
) -> Float[np.ndarray, " n"]:  # fmt: skip
    """Where each profile falls through its level, nearest to its start; NaN where it does not within the window."""
    found = np.full(len(profile), np.nan)
    gap = np.full(len(profile), np.inf)
    rows = np.arange(len(profile))
    for k in range(-window, window):
        i = start + k
        high, low = profile[rows, i] - level, profile[rows, i + 1] - level
        crosses = (high >= 0.0) & (low < 0.0) & (abs(k + 0.5) < gap)
        share = high / np.where(crosses, high - low, 1.0)
        found = np.where(crosses, steps[i] + share * _STEP_PX, found)
        gap = np.where(crosses, abs(k + 0.5), gap)
    return found


def _outline_jacobian(outline: _Outline, chosen: np.ndarray, jacobians: PoseJacobians, v: int) -> np.ndarray:
    """Motion of outline points along their normals with every unknown, (n, p) [px]."""
    poses = jacobians.poses
    T, p_camera = poses.Ts_camera_world[v], outline.p_camera[chosen]
    by_twist, by_focal = pixel_rows(outline.normals[chosen], p_camera, poses.intrinsics[v])
    J = by_twist @ jacobians.cameras[v] + by_focal[:, None] * jacobians.log_focal[v]
    # A link's twist moves the point in the world; the camera sees it turned.
    g_world = by_twist[:, :3] @ T[:3, :3]
    p_world = (p_camera - T[:3, 3]) @ T[:3, :3]
    by_link = np.concatenate([g_world, np.cross(p_world, g_world)], axis=-1)
    return J + np.einsum("ni,nip->np", by_link, jacobians.links[v, outline.link[chosen]])
