"""Views of trials, in which the object moves: known backgrounds, and agreement between cameras at each instant."""

from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Bool, Float

from gemel.stages.segment.appearance import colour_bins
from gemel.stages.segment.background import Backdrop, camera_median
from gemel.stages.segment.hull import VoxelBox, pixel_of, project_voxels
from gemel.stages.segment.odds import Looks
from gemel.stages.segment.placed import Placed, grown

_TOLERANCE = 0.02
"""How far cameras may disagree, as part of the image's width."""
_MEDIAN_OF = 120
_OBJECT_LIKE = 1.0


def still_backdrops(placed: list[Placed], looks: Looks) -> dict[str, Backdrop]:
    """What each standing camera sees most of the time, but not where that looks like the object."""
    drops = {}
    for camera in dict.fromkeys(p.view.camera for p in placed if p.view.is_fixed):
        of = [p for p in placed if p.view.camera == camera]
        of = [of[i] for i in np.unique(np.linspace(0, len(of) - 1, min(len(of), _MEDIAN_OF)).astype(int))]
        drop = camera_median([p.view for p in of], [p.near_robot for p in of])
        bins = colour_bins(drop.colour.clip(0, 255).astype(np.uint8))
        unlike = looks.object(bins) - looks.table(bins) < _OBJECT_LIKE
        drops[camera] = Backdrop(drop.colour, drop.is_known & unlike)
    return drops


def instants(placed: list[Placed]) -> Iterator[list[int]]:
    """Places of the views that were taken together."""
    groups: dict[tuple[str, int], list[int]] = {}
    for i, p in enumerate(placed):
        groups.setdefault((p.view.episode, p.view.step), []).append(i)
    yield from groups.values()


def agreeing_parts(
    placed: list[Placed], masks: list[Bool[np.ndarray, "_ _"]], box: VoxelBox, centres: Float[np.ndarray, "n 3"]
) -> list[Bool[np.ndarray, "_ _"]]:
    """The connected parts of each mask that lie where all cameras see object; all parts when too few cameras see it."""
    usable = [i for i, p in enumerate(placed) if p.pose is not None]
    count = np.zeros(len(centres), dtype=np.int64)
    denied = np.zeros(len(centres), dtype=bool)
    for i in usable:
        wide, unsure = grown(masks[i], _reach(placed[i])), placed[i].near_robot
        columns, rows, inside = pixel_of(centres, placed[i])
        hit = wide[rows, columns] & inside
        count += hit
        denied |= inside & ~hit & ~unsure[rows, columns]
    shared = (count >= 2) & ~denied
    if not shared.any():
        return [largest_part(mask) for mask in masks]
    kept = _main_cluster(shared.reshape(box.shape)).reshape(-1)
    return [
        _touching(masks[i], project_voxels(centres[kept], np.ones(int(kept.sum())), box.voxel_m, p) > 0.0, p)
        if i in usable else largest_part(masks[i])
        for i, p in enumerate(placed)
    ]  # fmt: skip


def follows_elsewhere(
    placed: list[Placed], brushed: Mapping[int, Bool[np.ndarray, "_ _"]], box: VoxelBox, place: int,
    masks: list[Bool[np.ndarray, "_ _"]],
) -> dict[int, Bool[np.ndarray, "_ _"]]:  # fmt: skip
    """For views taken together with a painted one: what of their masks lies along the rays of the painted mask."""
    here = placed[place]
    if here.pose is None:
        return {}
    centres = box.centres().reshape(-1, 3)
    columns, rows, inside = pixel_of(centres, here)
    seen = centres[inside & grown(brushed[place], _reach(here))[rows, columns]]
    follows = {}
    for i, p in enumerate(placed):
        is_together = (p.view.episode, p.view.step) == (here.view.episode, here.view.step) and i != place
        if is_together and p.pose is not None and len(seen) and masks[i].any():
            cone = grown(project_voxels(seen, np.ones(len(seen)), box.voxel_m, p) > 0.0, _reach(p))
            if (masks[i] & cone).any():
                follows[i] = masks[i] & cone
    return follows


def _reach(placed: Placed) -> int:
    """How far cameras may disagree in this view [px]."""
    return max(2, round(_TOLERANCE * placed.view.size[1]))


def largest_part(mask: Bool[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"]:
    """The largest connected part, with parts at least a quarter as large."""
    import cv2

    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    if count <= 1:
        return mask
    area = stats[1:, cv2.CC_STAT_AREA]
    return np.isin(labels, 1 + np.flatnonzero(area >= 0.25 * area.max()))


def _touching(
    mask: Bool[np.ndarray, "h w"], region: Bool[np.ndarray, "h w"], placed: Placed
) -> Bool[np.ndarray, "h w"]:
    import cv2

    _, labels = cv2.connectedComponents(mask.astype(np.uint8), connectivity=8)
    wide = grown(region, _reach(placed))
    hits = np.setdiff1d(np.unique(labels[wide & mask]), [0])
    return np.isin(labels, hits)


def _main_cluster(shared: Bool[np.ndarray, "x y z"]) -> Bool[np.ndarray, "x y z"]:
    from scipy.ndimage import label

    labels, _ = label(shared, structure=np.ones((3, 3, 3)))
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    return labels == int(sizes.argmax())
