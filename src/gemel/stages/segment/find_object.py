"""Where something stands on the table that is neither table nor robot: space that no view of the bare table denies."""

import numpy as np
from jaxtyping import Bool, Float

from gemel.stages.segment.appearance import UNIFORM
from gemel.stages.segment.background import TableMap, background_log_likelihood, from_map
from gemel.stages.segment.bare_table import pose_of
from gemel.stages.segment.hull import VoxelBox, box_around, voxel_votes
from gemel.stages.segment.placed import Placed

_TALLEST_M = 0.3
_VOXELS = 120_000
_DENIED = 0.15
"""Part of the views that may deny a voxel before it is empty."""
_SEEN = 0.5
"""Part of the views that must see a voxel."""
_NOT_TABLE = 4.0
"""How much less likely than any colour a pixel must be as table to be surely something else (log)."""


def find_things(placed: list[Placed], table: TableMap) -> tuple[VoxelBox, list[Float[np.ndarray, "_ 3"]]]:
    """Candidates, best first: the voxel centres of each connected thing; and the box that they were looked for in."""
    from scipy.ndimage import label

    grid = table.grid
    low = np.array([grid.x0_m, grid.y0_m, grid.height_m])
    rows, columns = grid.shape
    box = box_around(low, low + np.array([columns * grid.cell_m, rows * grid.cell_m, _TALLEST_M]), _VOXELS)
    centres = box.centres()
    evidence = [_evidence(p, table) for p in placed]
    votes = voxel_votes(centres.reshape(-1, 3), placed, evidence)
    weights = np.array([p.weight for p in placed], dtype=np.float32)
    seen = np.isfinite(votes) @ weights
    denied = (votes < -0.5) @ weights / np.maximum(seen, 1e-3)
    shown = (votes > 0.5) @ weights / np.maximum(seen, 1e-3)
    free = ((seen >= _SEEN * weights.sum()) & (denied < _DENIED)).reshape(box.shape)
    labels, count = label(free, structure=np.ones((3, 3, 3)))
    worth = np.bincount(labels.ravel(), weights=(0.05 + shown), minlength=count + 1)
    order = [i for i in np.argsort(-worth) if i != 0 and worth[i] > 0]
    return box, [centres[labels == i] for i in order[:8]]


def _evidence(placed: Placed, table: TableMap) -> Float[np.ndarray, "h w"]:
    """+1 where the view surely shows something else than the table, -1 where it shows the table, 0 unknown."""
    import cv2

    drop = from_map(placed.view, pose_of(placed), table)
    log_p = background_log_likelihood(placed.view.image, drop)
    sign = np.where(log_p < UNIFORM - _NOT_TABLE, 1.0, np.where(log_p > UNIFORM, -1.0, 0.0))
    sign = cv2.medianBlur(np.where(drop.is_known, sign, 0.0).astype(np.float32), 3)
    return np.where(placed.near_robot, np.nan, sign)


def touches(pixels: Bool[np.ndarray, "h w"], xy: tuple[float, float], reach_px: int = 3) -> bool:
    """Whether a mask comes near a point of the image [px]."""
    height, width = pixels.shape
    column, row = int(np.clip(xy[0], 0, width - 1)), int(np.clip(xy[1], 0, height - 1))
    return bool(
        pixels[max(0, row - reach_px) : row + reach_px + 1, max(0, column - reach_px) : column + reach_px + 1].any()
    )
