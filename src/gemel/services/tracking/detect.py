"""Where an object is when nothing predicts it: poses at rest on the table whose outline covers what looks like it.

What looks like the object comes from masks where there are any, else from colour: pixels nearer to the object's own
chromaticities than to those of the surroundings. Rough poses are tried all round, the best are refined, and the images
decide between them.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float

from gemel.services.render.mesh_raster import silhouette
from gemel.services.render.renderer import Renderer
from gemel.services.tracking.refine import FramePose, RefineConfig, refine
from gemel.services.tracking.resting import Resting
from gemel.services.tracking.tracked_object import TrackedObject, chromaticity
from gemel.services.tracking.view import View

_YAWS = 24
_GRID_M = (-0.02, 0.0, 0.02)
_KEPT = 4
_LEAST_CHROMA = 0.03
"""Chromaticities that differ by less are the same."""
_LEAST_LIKE_PX = 20
_DARK = 0.08
"""Pixels below this brightness have no colour."""
_ROBOT_MARGIN_PX = 2


def likely_object(view: View, tracked: TrackedObject) -> Bool[np.ndarray, "h w"]:
    """Pixels whose colour is the object's rather than the surroundings', and that do not show the robot."""
    from scipy.ndimage import binary_dilation, binary_opening

    own = chromaticity(view.image)
    to_object = np.min([np.linalg.norm(own - colour, axis=-1) for colour in tracked.palette], axis=0)
    to_others = np.linalg.norm(own - chromaticity(view.surroundings), axis=-1)
    is_robot = binary_dilation(np.isfinite(view.robot_depth), iterations=_ROBOT_MARGIN_PX)
    is_like = (to_object < to_others) & (to_others > _LEAST_CHROMA) & (view.image.sum(axis=-1) > 3.0 * _DARK)
    return np.asarray(binary_opening(is_like & ~is_robot & view.is_known))


def detect(
    tracked: TrackedObject,
    views: Sequence[View],
    masks: "Mapping[str, Bool[np.ndarray, 'h w']]",
    resting: Resting,
    config: RefineConfig,
    *,
    renderer: Renderer,
) -> FramePose | None:
    """The object at rest somewhere on the table; None if nothing looks like it. `masks` are by camera."""
    likes = [masks.get(view.camera, np.zeros(view.shape, dtype=bool)) for view in views]
    likes = [like if like.any() else likely_object(view, tracked) for view, like in zip(views, likes, strict=True)]
    centre = _middle_on_table(views, likes, float(resting.T_world_object.translation[2]))
    if centre is None:
        return None
    candidates = [
        resting.placed(float(centre[0] + dx), float(centre[1] + dy), 2.0 * np.pi * k / _YAWS)
        for dx in _GRID_M for dy in _GRID_M for k in range(_YAWS)
    ]  # fmt: skip
    scores = np.array([_overlap(tracked, views, likes, T) for T in candidates])
    found: list[tuple[float, FramePose]] = []
    for index in _distinct(candidates, scores):
        pose = refine(tracked, views, candidates[index], np.zeros(6), config, renderer=renderer, resting=resting)
        found.append((_overlap(tracked, views, likes, pose.T_world_object), pose))
    best = max(overlap for overlap, _ in found)
    near = [pose for overlap, pose in found if overlap > best - 0.1]
    return min(near, key=lambda pose: pose.sigma)


def overlap(tracked: TrackedObject, view: View, T_world_object: Float[np.ndarray, "4 4"]) -> float:
    """How well the object's outline covers what looks like it: intersection over union, away from the robot."""
    return _overlap(tracked, [view], [likely_object(view, tracked)], T_world_object)


def _distinct(candidates: Sequence[np.ndarray], scores: Float[np.ndarray, " n"]) -> list[int]:
    """The best candidates, no two of them of nearly the same yaw."""
    chosen: list[int] = []
    for index in np.argsort(-scores):
        traces = [np.trace(candidates[other][:3, :3].T @ candidates[index][:3, :3]) for other in chosen]
        if all(trace < 1.0 + 2.0 * np.cos(2.5 * 2.0 * np.pi / _YAWS) for trace in traces):
            chosen.append(int(index))
        if len(chosen) == _KEPT:
            break
    return chosen


def _overlap(
    tracked: TrackedObject,
    views: Sequence[View],
    likes: "Sequence[Bool[np.ndarray, 'h w']]",
    T_world_object: np.ndarray,
) -> float:
    both = either = 0
    for view, like in zip(views, likes, strict=True):
        T = view.T_camera_world @ T_world_object
        p_camera = tracked.mesh.vertices @ T[:3, :3].T + T[:3, 3]
        covered = silhouette(p_camera, tracked.mesh.faces, view.intrinsics, view.shape[1], view.shape[0])
        is_free = view.is_known & ~np.isfinite(view.robot_depth)
        both += int(np.count_nonzero(covered & like & is_free))
        either += int(np.count_nonzero((covered | like) & is_free))
    return both / max(either, 1)


def _middle_on_table(
    views: Sequence[View], likes: "Sequence[Bool[np.ndarray, 'h w']]", height_m: float
) -> Float[np.ndarray, "2"] | None:
    """Where the rays through the middles of what looks like the object meet its height, weighted by its size."""
    points, weights = [], []
    for view, like in zip(views, likes, strict=True):
        rows, columns = np.nonzero(like)
        if len(rows) < _LEAST_LIKE_PX:
            continue
        fx, fy, cx, cy = view.intrinsics
        R, t = view.T_camera_world[:3, :3], view.T_camera_world[:3, 3]
        ray = R.T @ np.array([(np.median(columns) + 0.5 - cx) / fx, (np.median(rows) + 0.5 - cy) / fy, 1.0])
        origin = -R.T @ t
        if ray[2] < -1e-3:
            points.append((origin + ray * (height_m - origin[2]) / ray[2])[:2])
            weights.append(len(rows))
    return np.average(points, axis=0, weights=weights) if points else None
