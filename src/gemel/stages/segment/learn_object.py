"""Learning what the object looks like and where it is, from a scan and a first idea of where it stands.

In turns: which pixels are object (from colours, table map and body), what colours it has, which table cells are bare,
and what its body is. Colours come from inside the masks, where no shadow and no blurred edge is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from gemel.stages.segment.appearance import (
    Colours,
    colour_counts,
    learn_colours,
    learn_shaded_colours,
    unmixed,
)
from gemel.stages.segment.background import TableMap, from_map
from gemel.stages.segment.bare_table import bare_table, pose_of
from gemel.stages.segment.body import Body, carve, fitted_shifts, shifted
from gemel.stages.segment.odds import SURE, Looks, colour_odds
from gemel.stages.segment.placed import Placed, grown, shrunk
from gemel.stages.segment.smooth import smoothed_odds
from gemel.stages.segment.table_map import plane_points

Painted = Sequence[tuple[Placed, Bool[np.ndarray, "_ _"]]]
"""Views with the mask that a person painted in each."""
_ROUNDS = 3
_STANDS = 1.0
"""Log odds of object where the table behind a pixel was never seen bare."""
_REGION_PX = 7
_RING_PX = 15
_FIRST_DEPTH_PX, _DEPTH_PX = 4.0, 2.5
"""How far inside a mask a pixel has to be for its colour to count in full."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """All that is known of an object that stands still in a scan."""

    looks: Looks
    table: TableMap
    """Bare cells only."""
    stands: Bool[np.ndarray, "row column"]
    """Cells on which something always stood."""
    body: Body
    shift_from_camera: dict[str, tuple[int, int]]


def learn_object(placed: list[Placed], table: TableMap, first: Body, painted: Painted = ()) -> Learnt:
    """Learn the object that stands where the first body is; in the painted views, a person said which pixels are it."""
    sure = [(replace(p, is_sure=True), mask) for p, mask in painted]
    placed = [*placed, *(p for p, _ in sure)]
    given = [None] * (len(placed) - len(sure)) + [mask for _, mask in sure]
    regions = [first.outline(p) > 0.0 if mask is None else mask for p, mask in zip(placed, given, strict=True)]
    looks = _first_looks(placed, regions)
    stands, shifts = ~table.is_bare & False, {}
    body, prior = first, [np.where(grown(r, _REGION_PX), 0.0, -6.0) for r in regions]
    for turn in range(_ROUNDS):
        odds = [_data_odds(p, looks, table, stands, h) for p, h in zip(placed, prior, strict=True)]
        alone = [
            smoothed_odds(o, p.view.image) if mask is None else np.where(grown(mask, 1), SURE, -SURE)
            for o, p, mask in zip(odds, placed, given, strict=True)
        ]
        masks = [
            smoothed_odds(o + np.maximum(h, 0.0), p.view.image) > 0.0 if mask is None else mask
            for o, h, p, mask in zip(odds, prior, placed, given, strict=True)
        ]
        body = carve(placed, alone, first)
        if turn == 1:
            shifts = fitted_shifts(placed, alone, body)
            placed = [shifted(p, shifts) for p in placed]
        prior = [body.prior(p) for p in placed]
        looks = _looks(placed, masks, body, looks.robot)
        if turn >= 1:
            moving = [i for i, p in enumerate(placed) if not p.view.is_fixed]
            cores = [shrunk(masks[i] & (prior[i] > 0.0), 1) for i in moving]
            table, stands = bare_table([placed[i] for i in moving], table, cores, looks.object, looks.table)
    return Learnt(looks, table, stands, body, shifts)


def learn_from_regions(placed: list[Placed], regions: list[Bool[np.ndarray, "_ _"]]) -> Looks:
    """Colours from regions that hold the object in single views, where nothing is known about space."""
    return _first_looks(placed, regions)


def scan_odds(placed: Placed, learnt: Learnt, looks: Looks) -> Float[np.ndarray, "h w"]:
    """Log odds of object in a view of the scan, neighbours not yet asked."""
    placed = shifted(placed, learnt.shift_from_camera)
    prior = learnt.body.prior(placed)
    return _data_odds(placed, looks, learnt.table, learnt.stands, prior) + np.maximum(prior, 0.0)


def _data_odds(
    placed: Placed, looks: Looks, table: TableMap, stands: Bool[np.ndarray, "row column"],
    prior: Float[np.ndarray, "h w"],
) -> Float[np.ndarray, "h w"]:  # fmt: skip
    """Colour and table, and where the object is not; not yet where it is, so that the body cannot confirm itself."""
    import cv2

    drop = from_map(placed.view, pose_of(placed), table)
    odds = colour_odds(placed, looks, [drop]) + np.minimum(prior, 0.0)
    if stands.any():
        assert placed.view.model is not None
        at = table.grid.places(plane_points(placed.view.model, pose_of(placed), table.grid.height_m))
        at = np.nan_to_num(at, nan=-9.0).clip(-9.0, 1e5).astype(np.float32)
        odds = odds + _STANDS * cv2.remap(stands.astype(np.float32), at[..., 0], at[..., 1], cv2.INTER_LINEAR)
    return odds


def _first_looks(placed: list[Placed], regions: list[Bool[np.ndarray, "_ _"]]) -> Looks:
    rings = [
        grown(r, _RING_PX) & ~grown(r, _REGION_PX - 1) & ~p.near_robot for p, r in zip(placed, regions, strict=True)
    ]
    inner = [r & ~p.near_robot for p, r in zip(placed, regions, strict=True)]
    robot = learn_colours(np.concatenate([p.bins[p.on_robot] for p in placed]).astype(np.int64))
    return _from_pixels(placed, inner, rings, robot, _FIRST_DEPTH_PX)


def _looks(placed: list[Placed], masks: list[Bool[np.ndarray, "_ _"]], body: Body, robot: Colours) -> Looks:
    outlines = [body.outline(p) for p in placed]
    inner = [m & ~p.near_robot & grown(o > 0.0, 1) for p, m, o in zip(placed, masks, outlines, strict=True)]
    rings = [
        grown(o > 0.0, _RING_PX) & ~grown(m | (o > 0.5), 2) & ~p.near_robot
        for p, m, o in zip(placed, masks, outlines, strict=True)
    ]
    return _from_pixels(placed, inner, rings, robot, _DEPTH_PX)


def _from_pixels(
    placed: list[Placed], inner: list[Bool[np.ndarray, "_ _"]], rings: list[Bool[np.ndarray, "_ _"]], robot: Colours,
    depth_px: float,
) -> Looks:  # fmt: skip
    """Colours of what is inside, less those of the ring around it."""
    pixels = np.concatenate([p.view.image[r] for p, r in zip(placed, rings, strict=True)])
    table = learn_shaded_colours(pixels)
    bins = np.concatenate([p.bins[m] for p, m in zip(placed, inner, strict=True)])
    deep = np.concatenate([_depth(m, depth_px)[m] for m in inner])
    counts = colour_counts(bins, deep)
    own = unmixed(counts, np.exp(table.log_p))
    return Looks(learn_colours(bins, deep * own[bins]), table, robot)


def _depth(mask: Bool[np.ndarray, "h w"], full_px: float) -> Float[np.ndarray, "h w"]:
    """0 at the rim of a mask, 1 from that depth on."""
    import cv2

    inside = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 3)
    return np.clip((inside.astype(np.float64) - 0.5) / full_px, 0.0, 1.0)
