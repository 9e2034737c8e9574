"""The table's texture as a ruler: patches of the table, seen by two views, have to lie at one place.

Every view is rectified to a map of the table under the current poses. Where the poses are wrong, the maps of two views
are shifted against each other; the shift of each patch is measured by normalised correlation, which has a wide basin
and does not mind light and shadow, and is explained by the unknowns to first order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from gemel.stages.reconstruct.calibration.observed import Rows, SmoothImage, pixel_rows, robust_sigma, tukey_weight
from gemel.stages.reconstruct.calibration.robot_rig import PoseJacobians

_PATCH = 15
"""Side of a patch in cells of the map."""
_STRIDE = 8
_REPEATS = (_PATCH / _STRIDE) ** 2 * 4.0
"""How often the same evidence is counted: patches overlap, and each view's patches meet those of several others."""
_LEAST_CORRELATION = 0.6
_NEAR_M = 0.05
_LEAST_TEXTURE = 1e-4
"""Smallest standard deviation of a patch, brightness 0 to 1, that is not just noise."""


@dataclass(frozen=True)
class TableGrid:
    """A square map of the table."""

    centre: tuple[float, float]
    """[m], in the world."""
    half_size_m: float
    cell_m: float
    height_m: float = 0.0
    """Height of the table top in the world [m]."""

    @property
    def count(self) -> int:
        """Cells along a side."""
        return int(np.ceil(2.0 * self.half_size_m / self.cell_m))

    def points(self) -> Float[np.ndarray, "n n 3"]:
        """Centres of the cells in the world [m]; rows along y."""
        line = (np.arange(self.count) + 0.5) * self.cell_m - self.half_size_m
        x, y = np.meshgrid(self.centre[0] + line, self.centre[1] + line)
        return np.stack([x, y, np.full_like(x, self.height_m)], axis=-1)


@dataclass(frozen=True, eq=False)
class Orthophoto:
    """One view as a map of the table."""

    value: Float32[np.ndarray, "n n"]
    is_valid: Bool[np.ndarray, "n n"]
    height: int
    """Rows of the image that it comes from."""


def rectified(grid: TableGrid, image: SmoothImage, jacobians: PoseJacobians, v: int) -> Orthophoto:
    """What a view shows of each cell of the map; rows that are read later see the cell where it is then."""
    p_camera, pixels = _projected(grid.points().reshape(-1, 3), jacobians, v)
    height = len(image.value)
    late_s = jacobians.readout_s[v] * (pixels[:, 1] / height - 0.5)
    pixels = pixels + _pixel_rate(p_camera, jacobians, v) * late_s[:, None]
    value, _, is_valid = image.sample(pixels)
    shape = (grid.count, grid.count)
    is_front = p_camera[:, 2] > _NEAR_M
    return Orthophoto(value.astype(np.float32).reshape(shape), (is_valid & is_front).reshape(shape), height)


def _projected(points: Float[np.ndarray, "n 3"], jacobians: PoseJacobians, v: int) -> tuple[np.ndarray, np.ndarray]:
    """Points in the camera [m] and where they appear [px]; behind it they are kept at a harmless depth."""
    T, k = jacobians.poses.Ts_camera_world[v], jacobians.poses.intrinsics[v]
    p_camera = points @ T[:3, :3].T + T[:3, 3]
    z = np.where(p_camera[:, 2] > _NEAR_M, p_camera[:, 2], 1.0)
    return p_camera, p_camera[:, :2] / z[:, None] * k[:2] + k[2:]


def _pixel_rate(p_camera: Float[np.ndarray, "n 3"], jacobians: PoseJacobians, v: int) -> Float[np.ndarray, "n 2"]:
    """How fast points that stand still move through the image [px/s]."""
    p_camera = np.where(p_camera[:, 2:] > _NEAR_M, p_camera, 1.0)
    rate = []
    for axis in range(2):
        direction = np.zeros((len(p_camera), 2))
        direction[:, axis] = 1.0
        by_twist, _ = pixel_rows(direction, p_camera, jacobians.poses.intrinsics[v])
        rate.append(by_twist @ jacobians.cameras[v, :, jacobians.time[v]])
    return np.stack(rate, axis=-1)


def table_rows(
    grid: TableGrid,
    maps: Sequence[Orthophoto | None],
    pairs: Sequence[tuple[int, int]],
    jacobians: PoseJacobians,
    *,
    reach: int,
) -> Rows | None:
    """Shifts [m] between the maps of view pairs, whitened by how well each patch can tell them; None without any."""
    found = [_pair_rows(grid, maps, i, j, jacobians, reach) for i, j in pairs]
    kept = [rows for rows in found if rows is not None]
    if not kept:
        return None
    residual = np.concatenate([r for r, _, _ in kept])
    sigma = robust_sigma(residual, least=1e-6)
    weight = tukey_weight(residual, sigma) / (sigma**2 * _REPEATS)
    return Rows(
        residual,
        np.concatenate([J for _, J, _ in kept]),
        weight,
        np.concatenate([v for _, _, v in kept]),
        sigma,
        "table",
    )


def _pair_rows(
    grid: TableGrid, maps: Sequence[Orthophoto | None], i: int, j: int, jacobians: PoseJacobians, reach: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    first, second = maps[i], maps[j]
    if first is None or second is None:
        return None
    corners = _patches(first, second, reach)
    if not len(corners):
        return None
    shift, is_good = _shifts(first, second, corners, reach)
    corners, shift = corners[is_good], shift[is_good]
    if len(corners) < 3:
        return None
    points = grid.points()[corners[:, 0] + _PATCH // 2, corners[:, 1] + _PATCH // 2]
    J = _ground_motion(points, jacobians, j, second.height) - _ground_motion(points, jacobians, i, first.height)
    root = _whitening(first, corners)
    residual = np.einsum("nij,nj->ni", root, shift * grid.cell_m).reshape(-1)
    rows = np.einsum("nij,njp->nip", root, J).reshape(len(residual), -1)
    return residual, rows, np.full(len(residual), i)


def _patches(first: Orthophoto, second: Orthophoto, reach: int) -> Int[np.ndarray, "n 2"]:
    """Top-left corners of patches that the first map shows whole and the second with room to search."""
    from scipy.ndimage import minimum_filter

    size = _PATCH + 2 * reach
    whole = minimum_filter(first.is_valid, _PATCH, mode="constant", cval=False)
    roomy = minimum_filter(second.is_valid, size, mode="constant", cval=False)
    middle = np.zeros_like(whole)
    middle[_PATCH // 2 :: _STRIDE, _PATCH // 2 :: _STRIDE] = True
    centres = np.argwhere(whole & roomy & middle)
    margin = _PATCH // 2 + reach
    n = len(first.value)
    inside = ((centres >= margin) & (centres < n - margin)).all(axis=1)
    return centres[inside] - _PATCH // 2


def _shifts(
    first: Orthophoto, second: Orthophoto, corners: Int[np.ndarray, "n 2"], reach: int
) -> tuple[Float[np.ndarray, "n 2"], Bool[np.ndarray, " n"]]:
    """Shift (x, y) in cells that brings each patch of the first map onto the second, and whether it can be trusted."""
    from gemel.stages.reconstruct.calibration.patch_kernel import correlate

    windows = np.lib.stride_tricks.sliding_window_view
    patches = windows(first.value, (_PATCH, _PATCH))[corners[:, 0], corners[:, 1]]
    is_textured = patches.std(axis=(1, 2)) > _LEAST_TEXTURE
    score = correlate(first.value, second.value, corners, _PATCH, reach)
    return _peaks(score, reach, is_textured)


def _peaks(
    score: Float[np.ndarray, "n s s"], reach: int, is_textured: Bool[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, "n 2"], Bool[np.ndarray, " n"]]:
    """Best shift to a part of a cell, by a parabola along each axis."""
    size, rows = score.shape[1], np.arange(len(score))
    y, x = np.unravel_index(score.reshape(len(score), -1).argmax(axis=1), (size, size))
    is_inner = (x > 0) & (y > 0) & (x < size - 1) & (y < size - 1)
    x, y = np.clip(x, 1, size - 2), np.clip(y, 1, size - 2)
    peak = score[rows, y, x]
    parts = []
    for low, high in ((score[rows, y, x - 1], score[rows, y, x + 1]), (score[rows, y - 1, x], score[rows, y + 1, x])):
        bend = np.minimum(low + high - 2.0 * peak, -1e-9)
        parts.append(np.clip(0.5 * (low - high) / bend, -0.5, 0.5))
    shift = np.stack([x - reach + parts[0], y - reach + parts[1]], axis=-1)
    return shift, is_inner & is_textured & (peak > _LEAST_CORRELATION)


def _whitening(first: Orthophoto, corners: Int[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2 2"]:
    """Roots of the patches' structure tensors, scaled to unit mean: along a grain a patch tells nothing."""
    windows = np.lib.stride_tricks.sliding_window_view
    gy, gx = np.gradient(first.value)
    parts = [
        windows(a, (_PATCH, _PATCH))[corners[:, 0], corners[:, 1]].sum(axis=(1, 2)) for a in (gx * gx, gx * gy, gy * gy)
    ]
    S = np.stack([np.stack([parts[0], parts[1]], -1), np.stack([parts[1], parts[2]], -1)], -2)
    values, vectors = np.linalg.eigh(S)
    # Correlation is blind to contrast, so only the shape of the tensor counts: one for the sharpest direction.
    ratio = np.sqrt(np.maximum(values, 0.0) / np.maximum(values[:, 1:], 1e-12))
    return ratio[:, :, None] * np.swapaxes(vectors, 1, 2)


def _ground_motion(
    points: Float[np.ndarray, "n 3"], jacobians: PoseJacobians, v: int, height: int
) -> Float[np.ndarray, "n 2 p"]:
    """How the place on the table that a pixel shows moves with each unknown: -(du/dX)^-1 du/dtheta."""
    T, k = jacobians.poses.Ts_camera_world[v], jacobians.poses.intrinsics[v]
    p_camera, pixels = _projected(points, jacobians, v)
    U_X, U_theta = [], []
    for axis in range(2):
        direction = np.zeros((len(points), 2))
        direction[:, axis] = 1.0
        by_twist, by_focal = pixel_rows(direction, p_camera, k)
        U_X.append(by_twist[:, :3] @ T[:3, :2])
        rows = by_twist @ jacobians.cameras[v] + by_focal[:, None] * jacobians.log_focal[v]
        rows[:, jacobians.readout[v]] += rows[:, jacobians.time[v]] * (pixels[:, 1] / height - 0.5)
        U_theta.append(rows)
    return -np.linalg.solve(np.stack(U_X, axis=1), np.stack(U_theta, axis=1))
