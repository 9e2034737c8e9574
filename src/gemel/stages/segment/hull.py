"""Where in space the object can be: voxels that no view contradicts."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.stages.segment.placed import Placed


@dataclass(frozen=True, eq=False)
class VoxelBox:
    """Cubic voxels in an upright box of the world."""

    low: Float[np.ndarray, "3"]
    """Corner [m]."""
    voxel_m: float
    shape: tuple[int, int, int]

    def centres(self) -> Float[np.ndarray, "x y z 3"]:
        """Voxel centres [m]."""
        axes = [self.low[k] + self.voxel_m * (np.arange(self.shape[k]) + 0.5) for k in range(3)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def box_around(low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"], max_voxels: int) -> VoxelBox:
    """A box of at most about that many voxels."""
    extent = np.maximum(high - low, 1e-3)
    voxel = float(np.cbrt(np.prod(extent) / max_voxels))
    nx, ny, nz = np.maximum(np.ceil(extent / voxel).astype(int), 1)
    return VoxelBox(low, voxel, (int(nx), int(ny), int(nz)))


def voxel_votes(
    points: Float[np.ndarray, "n 3"], placed: list[Placed], evidence: list[Float[np.ndarray, "_ _"]]
) -> Float[np.ndarray, "n view"]:
    """What each view says about each point: its evidence there (NaN where it does not see it)."""
    votes = np.full((len(points), len(placed)), np.nan, dtype=np.float32)
    for k, (at, layer) in enumerate(zip(placed, evidence, strict=True)):
        columns, rows, inside = pixel_of(points, at)
        votes[inside, k] = layer[rows[inside], columns[inside]]
    return votes


def pixel_of(
    points: Float[np.ndarray, "n 3"], placed: Placed
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Column and row of the pixel that shows each point, and whether there is one."""
    view = placed.view
    assert view.model is not None
    assert placed.pose is not None
    with np.errstate(invalid="ignore"):
        pixels = np.nan_to_num(view.model.project(placed.pose.inverse() @ points), nan=-1e3)
    pixels = np.floor(np.clip(pixels, -1e3, 1e6)).astype(np.int64) + np.array(placed.shift_px)
    height, width = view.size
    inside = (pixels[:, 0] >= 0) & (pixels[:, 0] < width) & (pixels[:, 1] >= 0) & (pixels[:, 1] < height)
    return np.where(inside, pixels[:, 0], 0), np.where(inside, pixels[:, 1], 0), inside


def project_voxels(
    points: Float[np.ndarray, "n 3"], values: Float[np.ndarray, " n"], voxel_m: float, placed: Placed
) -> Float[np.ndarray, "h w"]:
    """The largest value along each pixel's ray; 0 where it meets no voxel."""
    import cv2

    view = placed.view
    assert view.model is not None
    assert placed.pose is not None
    image = np.zeros(view.size, dtype=np.float32)
    columns, rows, inside = pixel_of(points, placed)
    np.maximum.at(image, (rows[inside], columns[inside]), values[inside].astype(np.float32))
    if inside.any():
        depth = float(np.median((placed.pose.inverse() @ points[inside])[:, 2]))
        size = int(np.ceil(voxel_m * view.model.fx / max(depth, 1e-3)))
        image = cv2.morphologyEx(image, cv2.MORPH_CLOSE, np.ones((size + 2, size + 2), np.uint8))
    return image.astype(np.float64)


def main_parts(candidate: Bool[np.ndarray, "x y z"], weight: Float[np.ndarray, "x y z"]) -> Bool[np.ndarray, "x y z"]:
    """The connected parts of the candidates that weigh at least a twelfth of the heaviest."""
    from scipy.ndimage import label

    labels, count = label(candidate, structure=np.ones((3, 3, 3)))
    if count == 0:
        return candidate
    totals = np.bincount(labels.ravel(), weights=(weight * candidate).ravel())
    totals[0] = 0.0
    return np.isin(labels, np.flatnonzero(totals > totals.max() / 12.0)) & candidate
