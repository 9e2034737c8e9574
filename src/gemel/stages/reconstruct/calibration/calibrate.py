"""Cameras and robot from the table's texture and the robot in view, with no marker and no hand alignment.

The robot is the ruler: link lengths give the scale, its base gives gravity and the frame. What the measurements leave
open stays at what the lab believes, and the covariance says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.camera import WORLD
from gemel.stages.reconstruct.calibration.config import CalibrationConfig
from gemel.stages.reconstruct.calibration.contours import contour_rows
from gemel.stages.reconstruct.calibration.levels import LEVELS, Level
from gemel.stages.reconstruct.calibration.observed import Rows, SmoothImage
from gemel.stages.reconstruct.calibration.orthophoto import Orthophoto, TableGrid, rectified, table_rows
from gemel.stages.reconstruct.calibration.problem import Problem
from gemel.stages.reconstruct.calibration.robot_in_view import (
    GREY,
    Background,
    background_of,
    indicator_of,
    robot_mask,
)
from gemel.stages.reconstruct.calibration.robot_rig import PoseJacobians, RobotRig
from gemel.stages.reconstruct.calibration.solve import clustered_covariance, gauss_newton_step, normal_equations

OnProgress = Callable[[float], None]
_LARGEST_MAP_CELLS = 320
_CLUSTER_S = 0.5
"""Errors of views within this time depend on each other: play of the gears, clock, light."""
_SMALL_STEP = 0.05
"""A step below this part of every prior deviation ends a level."""
_OUTLINE_SIGMA_PX = 0.3
"""An outline point is hardly ever better than this: pixels, blur, facets of the model."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """What was found, in the order of the rig's unknowns."""

    theta: Float[np.ndarray, " p"]
    covariance: Float[np.ndarray, "p p"]
    jacobians: PoseJacobians
    """Poses of all views at the solution."""


@dataclass(frozen=True)
class CalibrationInfo:
    """How it went."""

    table_sigma_m: float
    """Robust spread of patches of the table between views; NaN if the table told nothing."""
    table_count: int
    outline_sigma_px: float
    """Median spread of the robot's outline over views; NaN if the robot was not seen."""
    outline_count: int


def calibrate(
    problem: Problem, config: CalibrationConfig, *, on_progress: OnProgress = lambda fraction: None
) -> tuple[Calibration, CalibrationInfo]:
    """Explain all views together."""
    rig = problem.rig
    theta = np.zeros(len(rig.unknowns))
    rows: list[Rows] = []
    for index, level in enumerate(LEVELS):
        for _ in range(level.rounds):
            rows = _measure(problem, theta, level, config.table_height_m)
            H, g = normal_equations(rows, theta, rig.unknowns.sigma)
            step = gauss_newton_step(H, g)
            theta = theta + step
            if np.max(np.abs(step) / rig.unknowns.sigma) < _SMALL_STEP:
                break
        on_progress((index + 1) / len(LEVELS))
    H, _ = normal_equations(rows, theta, rig.unknowns.sigma)
    clusters = np.unique(np.floor(rig.views.times_s / _CLUSTER_S), return_inverse=True)[1]
    covariance = clustered_covariance(H, rows, clusters, rig.unknowns.sigma)
    return Calibration(theta, covariance, rig.jacobians(theta)), _info(rows)


@dataclass(frozen=True, eq=False)
class _Round:
    """The problem at the poses of one round."""

    problem: Problem
    jacobians: PoseJacobians
    level: Level
    robots: list[Bool[np.ndarray, "h w"]]
    """Pixels of each view that may show the robot."""
    backgrounds: dict[int, Background]
    """Of each fixed camera."""


def _measure(problem: Problem, theta: Float[np.ndarray, " p"], level: Level, height_m: float) -> list[Rows]:
    """All measurements at the current poses."""
    rig, jacobians = problem.rig, problem.rig.jacobians(theta)
    robots = [
        robot_mask(problem.surface, jacobians.poses, v, image.shape[:2], margin_px=level.margin_px)
        for v, image in enumerate(problem.images)
    ]
    fixed = [i for i, camera in enumerate(rig.cameras) if camera.parent == WORLD]
    backgrounds = {i: background_of(*_of_camera(rig, i, problem.images, robots)) for i in fixed}
    now = _Round(problem, jacobians, level, robots, backgrounds)
    return [*_table(now, height_m), *_outlines(now)]


def _of_camera(rig: RobotRig, camera: int, *sequences: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    chosen = np.flatnonzero(rig.views.camera == camera)
    return [[sequence[int(v)] for v in chosen] for sequence in sequences]


def _outlines(now: _Round) -> list[Rows]:
    """The robot's outline in every view of a fixed camera."""
    found, problem = [], now.problem
    for v, camera in enumerate(problem.rig.views.camera):
        if int(camera) in now.backgrounds:
            indicator = indicator_of(problem.images[v], now.backgrounds[int(camera)])
            rows = contour_rows(problem.surface, indicator, now.jacobians, v, reach_px=now.level.reach_px)
            if rows is not None:
                sigma = max(rows.sigma, _OUTLINE_SIGMA_PX)
                found.append(replace(rows, weight=rows.weight / sigma**2))
    return found


def _table(now: _Round, height_m: float) -> list[Rows]:
    """Shifts of table patches between views; a fixed camera takes part once, by its background."""
    rig, level = now.problem.rig, now.level
    grid = _grid(rig, now.jacobians, level, height_m)
    if grid is None:
        return []
    first = {int(i): int(np.flatnonzero(rig.views.camera == i)[0]) for i in np.unique(rig.views.camera)}
    maps: list[Orthophoto | None] = []
    for v in range(len(now.problem.images)):
        image = _table_image(now, v, is_first=v in first.values())
        maps.append(None if image is None else rectified(grid, image, now.jacobians, v))
    # Each group has its own spread: while one camera is still off, its shifts must not pass for outliers of another's.
    groups = [table_rows(grid, maps, g, now.jacobians, reach=level.reach_cells) for g in _pairs(rig, level, first)]
    return [rows for rows in groups if rows is not None]


def _table_image(now: _Round, v: int, *, is_first: bool) -> SmoothImage | None:
    """What a view shows of the table, without robot and objects; None for a repetition of a fixed camera's."""
    problem, camera = now.problem, int(now.problem.rig.views.camera[v])
    if camera not in now.backgrounds:
        is_table = ~(now.robots[v] | problem.occupied[v])
        return SmoothImage.of(problem.images[v] @ GREY, is_table, now.level.smoothing_px)
    if not is_first or not now.level.has_fixed:
        return None
    scene = now.backgrounds[camera]
    taken = np.any(_of_camera(problem.rig, camera, problem.occupied)[0], axis=0)
    return SmoothImage.of(scene.image @ GREY, scene.is_known & ~taken, now.level.smoothing_px)


def _pairs(rig: RobotRig, level: Level, first: dict[int, int]) -> list[list[tuple[int, int]]]:
    """Views that are compared, by cameras: along each moving camera's sequence, and some of them with others."""
    moving = [i for i, camera in enumerate(rig.cameras) if camera.parent != WORLD]
    views = {i: [int(v) for v in np.flatnonzero(rig.views.camera == i)] for i in moving}
    groups = []
    for own in views.values():
        lags = {max(round(part * len(own)), 1) for part in level.lags}
        groups.append([(own[k], own[k + lag]) for lag in sorted(lags) for k in range(len(own) - lag)])
    if level.has_fixed:
        fixed = [first[j] for j in first if j not in moving]
        groups += [[(v, other) for v in own[::3]] for own in views.values() for other in fixed]
        groups += [[(v, w)] for k, v in enumerate(fixed) for w in fixed[k + 1 :]]
        groups += [[(v, w) for v in views[i][::4] for w in views[j][::4]] for i in moving for j in moving if i < j]
    return groups


def _grid(rig: RobotRig, jacobians: PoseJacobians, level: Level, height_m: float) -> TableGrid | None:
    """A map that covers what the cameras look at, with cells of the size that they can tell."""
    is_moving = np.array([rig.cameras[i].parent != WORLD for i in rig.views.camera])
    chosen = np.flatnonzero(is_moving) if is_moving.any() else np.arange(len(is_moving))
    T = np.linalg.inv(jacobians.poses.Ts_camera_world[chosen])
    centre, axis = T[:, :3, 3], T[:, :3, 2]
    looks_down = axis[:, 2] < -0.1
    if looks_down.sum() < 2:
        return None
    reach = (height_m - centre[looks_down, 2]) / axis[looks_down, 2]
    hits = centre[looks_down] + reach[:, None] * axis[looks_down]
    x, y = np.median(hits[:, :2], axis=0)
    pixel_m = float(np.median(reach / jacobians.poses.intrinsics[chosen][looks_down, 0]))
    cell_m = level.cell_px * pixel_m
    spread = float(np.percentile(np.linalg.norm(hits[:, :2] - [x, y], axis=1), 90))
    half_m = min(spread + 1.2 * float(np.median(reach)), 0.5 * cell_m * _LARGEST_MAP_CELLS)
    return TableGrid((float(x), float(y)), half_m, cell_m, height_m)


def _info(rows: list[Rows]) -> CalibrationInfo:
    table = [part for part in rows if part.kind == "table"]
    outlines = [part for part in rows if part.kind == "outline"]
    return CalibrationInfo(
        table_sigma_m=float(np.median([part.sigma for part in table])) if table else float("nan"),
        table_count=sum(len(part.residual) for part in table),
        outline_sigma_px=float(np.median([part.sigma for part in outlines])) if outlines else float("nan"),
        outline_count=sum(len(part.residual) for part in outlines),
    )
