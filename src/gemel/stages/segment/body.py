"""The object's body in space while it stands still: carved from many views, and what it tells each of them."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from gemel.stages.segment.hull import box_around, main_parts, project_voxels, voxel_votes
from gemel.stages.segment.placed import Placed, grown

_VOXELS = 120_000
_DENIED = 0.25
"""A voxel that more than this part of the views deny is empty."""
_SOFT = 0.1
_SEEN = 0.3
_INSIDE, _RIM, _NEAR, _OUTSIDE = 0.5, -0.5, -2.0, -5.0
"""Log odds that the body adds inside its outline, within one and three pixels of it, and beyond."""
_SHIFT_PX = 3


@dataclass(frozen=True, eq=False)
class Body:
    """Voxels that may be object."""

    points: Float[np.ndarray, "n 3"]
    """Voxel centres [m]."""
    values: Float[np.ndarray, " n"]
    """How sure each is, 0 to 1."""
    voxel_m: float

    def outline(self, placed: Placed) -> Float[np.ndarray, "h w"]:
        """How sure the body is met along each pixel's ray, 0 to 1."""
        return project_voxels(self.points, self.values, self.voxel_m, placed)

    def prior(self, placed: Placed) -> Float[np.ndarray, "h w"]:
        """Log odds of object that follow from where the body is."""
        outline = self.outline(placed)
        some = outline > 0.0
        outside = np.where(grown(some, 3), _NEAR, _OUTSIDE)
        return np.where(outline > 0.5, _INSIDE, np.where(grown(some, 1), _RIM, outside))


def carve(placed: list[Placed], odds: list[Float[np.ndarray, "_ _"]], around: Body) -> Body:
    """What of the space around a first body the views leave, each with its log odds of object per pixel."""
    margin = 2.0 * around.voxel_m
    low, high = around.points.min(axis=0) - margin, around.points.max(axis=0) + margin
    low[2] = max(low[2], around.points[:, 2].min() - 0.5 * around.voxel_m)
    box = box_around(low, high, _VOXELS)
    centres = box.centres()
    evidence = [np.where(p.near_robot & (o < 0), np.nan, o) for p, o in zip(placed, odds, strict=True)]
    votes = voxel_votes(centres.reshape(-1, 3), placed, evidence)
    is_sure = np.array([p.is_sure for p in placed])
    weights = np.where(is_sure, 0.0, [p.weight for p in placed]).astype(np.float32)
    seen = np.isfinite(votes) @ weights
    denies = np.nan_to_num(votes) < -1.0
    denied = denies @ weights / np.maximum(seen, 1e-3)
    value = np.clip((_DENIED - denied) / _SOFT, 0.0, 1.0) * (seen > _SEEN * weights.sum())
    value = np.where(denies[:, is_sure].any(axis=1), 0.0, value)
    value = value.reshape(box.shape).astype(np.float64)
    kept = main_parts(value > 0.0, value)
    if not kept.any():
        return around
    return Body(centres[kept], value[kept], box.voxel_m)


def fitted_shifts(placed: list[Placed], odds: list[Float[np.ndarray, "_ _"]], body: Body) -> dict[str, tuple[int, int]]:
    """For each standing camera, the whole pixels by which the body's outline has to move to fit its views best."""
    total: dict[str, np.ndarray] = {}
    for p, o in zip(placed, odds, strict=True):
        if not p.view.is_fixed:
            continue
        inside = body.outline(replace(p, shift_px=(0, 0))) > 0.5
        says = np.where(p.near_robot, 0.0, np.clip(o, -3.0, 3.0))
        total[p.view.camera] = total.get(p.view.camera, 0.0) + _shift_scores(says, inside)
    best = {camera: np.unravel_index(int(scores.argmax()), scores.shape) for camera, scores in total.items()}
    return {camera: (int(at[1]) - _SHIFT_PX, int(at[0]) - _SHIFT_PX) for camera, at in best.items()}


def _shift_scores(says: Float[np.ndarray, "h w"], inside: Bool[np.ndarray, "h w"]) -> Float[np.ndarray, "s s"]:
    span = range(-_SHIFT_PX, _SHIFT_PX + 1)
    return np.array([[(says * np.roll(inside, (dy, dx), (0, 1))).sum() for dx in span] for dy in span])


def shifted(placed: Placed, shift_from_camera: dict[str, tuple[int, int]]) -> Placed:
    """The view with its camera's shift."""
    return replace(placed, shift_px=shift_from_camera.get(placed.view.camera, placed.shift_px))
