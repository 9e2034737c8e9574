"""Whether a moving camera sees one table: pairs of its views, brought together by the believed poses, have to agree.

For each view, a partner is taken that should show about half of the same table; the partner is warped onto the view
and correlated with it, at the best of a few shifts, so that calibration errors of the usual size do not matter.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from gemel.stages.reconstruct.calibration.robot_in_view import GREY
from gemel.stages.reconstruct.calibration.robot_rig import Poses

_OVERLAP = 0.6
"""Wanted overlap of a pair: much more would agree whatever the poses."""
_LEAST_OVERLAP = 0.25
_REACH_PART = 0.03
"""Shift that is allowed, as part of the image width."""
_FINE_PART, _COARSE_PART = 0.012, 0.05
"""Texture between these scales, as parts of the image width, is compared."""
_PAIRS = 14


def overlaps(poses: Poses, views: Sequence[int], shape: tuple[int, int], height_m: float) -> Float[np.ndarray, "n n"]:
    """Part of each view's pixels (rows) whose place on the table lies inside each other view (columns)."""
    pixels = _grid(shape, 8)
    result = np.zeros((len(views), len(views)))
    for a, v in enumerate(views):
        points, is_table = _on_table(poses, v, pixels, height_m)
        for b, w in enumerate(views):
            if a != b:
                at, is_front = _seen_at(poses, w, points)
                result[a, b] = np.mean(is_table & is_front & _inside(at, shape))
    return result


def table_agreement(
    images: Sequence[np.ndarray],
    free: Sequence[Bool[np.ndarray, "h w"]],
    poses: Poses,
    views: Sequence[int],
    height_m: float,
) -> float:
    """Median correlation over pairs of views; NaN without pairs that should overlap.

    `images` and `free` (pixels without robot and objects) belong to `views`, which index `poses`.
    """
    shape = images[0].shape[:2]
    shared = overlaps(poses, views, shape, height_m)
    pairs = _pairs(np.minimum(shared, shared.T))
    bands = [_band(image @ GREY) for image in images]
    scores = [_pair(bands, free, poses, views, a, b, height_m) for a, b in pairs]
    kept = [score for score in scores if np.isfinite(score)]
    return float(np.median(kept)) if kept else float("nan")


def _pairs(shared: Float[np.ndarray, "n n"]) -> list[tuple[int, int]]:
    """For some views, the partner whose overlap is nearest to the wanted one."""
    found = set()
    for a in np.unique(np.linspace(0, len(shared) - 1, _PAIRS).round().astype(int)):
        order = np.argsort(np.abs(shared[a] - _OVERLAP))
        b = next((int(b) for b in order if b != a and shared[a, b] >= _LEAST_OVERLAP), None)
        if b is not None:
            found.add((min(int(a), b), max(int(a), b)))
    return sorted(found)


def _pair(
    bands: Sequence[np.ndarray], free: Sequence[np.ndarray], poses: Poses, views: Sequence[int], a: int, b: int,
    height_m: float,
) -> float:  # fmt: skip
    from scipy.ndimage import map_coordinates

    shape = bands[a].shape
    points, is_table = _on_table(poses, views[a], _grid(shape, 1), height_m)
    at, is_front = _seen_at(poses, views[b], points)
    where = [at[:, 1] - 0.5, at[:, 0] - 0.5]
    warped = map_coordinates(bands[b], where, order=1, mode="nearest").reshape(shape)
    is_free = map_coordinates(free[b].astype(np.float32), where, order=0, mode="constant").reshape(shape) > 0.5
    is_shared = (is_table & is_front & _inside(at, shape)).reshape(shape) & is_free & free[a]
    return _best_correlation(bands[a], warped, is_shared)


def _best_correlation(first: np.ndarray, second: np.ndarray, is_shared: np.ndarray) -> float:
    reach = max(round(_REACH_PART * first.shape[1]), 1)
    inner = (slice(reach, -reach), slice(reach, -reach))
    best = float("nan")
    for dy in range(-reach, reach + 1):
        for dx in range(-reach, reach + 1):
            moved = slice(reach + dy, first.shape[0] - reach + dy), slice(reach + dx, first.shape[1] - reach + dx)
            use = is_shared[moved]
            if use.sum() < 0.1 * is_shared.size:
                continue
            x, y = first[inner][use], second[moved][use]
            x, y = x - x.mean(), y - y.mean()
            best = np.fmax(best, float(x @ y / max(np.sqrt((x @ x) * (y @ y)), 1e-12)))
    return best


def _band(grey: np.ndarray) -> np.ndarray:
    from scipy.ndimage import gaussian_filter

    width = grey.shape[1]
    return np.asarray(gaussian_filter(grey, _FINE_PART * width) - gaussian_filter(grey, _COARSE_PART * width))


def _grid(shape: tuple[int, int], step: int) -> Float[np.ndarray, "n 2"]:
    x, y = np.meshgrid(np.arange(0, shape[1], step) + 0.5, np.arange(0, shape[0], step) + 0.5)
    return np.stack([x.ravel(), y.ravel()], axis=-1)


def _on_table(poses: Poses, v: int, pixels: np.ndarray, height_m: float) -> tuple[np.ndarray, np.ndarray]:
    """Where pixels meet the table [m], and whether they do."""
    T, k = poses.Ts_camera_world[v], poses.intrinsics[v]
    rays = np.concatenate([(pixels - k[2:]) / k[:2], np.ones((len(pixels), 1))], axis=1) @ T[:3, :3]
    eye = -T[:3, :3].T @ T[:3, 3]
    is_down = rays[:, 2] < -0.05
    reach = np.where(is_down, (height_m - eye[2]) / np.where(is_down, rays[:, 2], -1.0), 0.0)
    return eye + reach[:, None] * rays, is_down & (reach > 0.0)


def _seen_at(poses: Poses, v: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pixels at which a view sees points, and whether they are in front of it."""
    T, k = poses.Ts_camera_world[v], poses.intrinsics[v]
    p_camera = points @ T[:3, :3].T + T[:3, 3]
    is_front = p_camera[:, 2] > 0.02
    z = np.where(is_front, p_camera[:, 2], 1.0)
    return p_camera[:, :2] / z[:, None] * k[:2] + k[2:], is_front


def _inside(pixels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(((pixels >= 0.5) & (pixels <= [shape[1] - 0.5, shape[0] - 0.5])).all(axis=1))
