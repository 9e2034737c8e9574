"""Which cells of the table were ever seen bare, and what colour they are there.

Views of a bare cell agree with each other; views in which something stands before it do not, or agree on a colour of
that thing. So each cell takes the largest set of agreeing views, if that is large enough.
"""

import numpy as np
from jaxtyping import Bool, Float

from gemel.geometry import SE3
from gemel.stages.segment.appearance import Colours, colour_bins
from gemel.stages.segment.background import TableMap, view_gain
from gemel.stages.segment.placed import Placed, grown
from gemel.stages.segment.table_map import TableGrid, sample_views

_TOLERANCE = 14.0
"""Views agree on a cell when no channel differs by more [grey levels]."""
_FEWEST, _LEAST_PART = 4, 0.25
"""How many views, and which part of all that see the cell, have to agree."""
_OBJECT_LIKE = 1.0
"""Cells whose log odds to be object exceed this are not bare, however many views agree."""
_CHUNK = 4096
_WINDOW_CELLS = 6
"""How far around cells that are not bare the map is made anew."""


def bare_table(
    placed: list[Placed], table: TableMap, blocked: list[Bool[np.ndarray, "_ _"]], object_colours: Colours,
    table_colours: Colours,
) -> tuple[TableMap, Bool[np.ndarray, "row column"]]:  # fmt: skip
    """The map from the views where they are not blocked, and the cells on which something always stands."""
    from gemel.stages.segment.background import from_map

    grid, corner, near = _window(table)
    views, poses = [p.view for p in placed], [pose_of(p) for p in placed]
    drops = [from_map(view, pose, table) for view, pose in zip(views, poses, strict=True)]
    even = [
        view.image / view_gain(view.image, drop.colour, drop.is_known)[..., None]
        for view, drop in zip(views, drops, strict=True)
    ]
    hidden = [p.near_robot for p in placed]
    seen = np.isfinite(sample_views([e[..., 0] for e in even], views, poses, grid, hidden)).sum(axis=0)
    both = [a | b for a, b in zip(hidden, blocked, strict=True)]
    colour, count = _largest_agreement(sample_views(even, views, poses, grid, both))
    bins = colour_bins(np.nan_to_num(colour).clip(0, 255).astype(np.uint8))
    unlike = object_colours(bins) - table_colours(bins) < _OBJECT_LIKE
    is_bare = (count >= _FEWEST) & (count > _LEAST_PART * seen) & unlike
    whole = TableMap(table.grid, table.colour.copy(), table.is_bare.copy())
    whole.colour[corner], whole.is_bare[corner] = colour, is_bare
    stands = np.zeros_like(table.is_bare)
    stands[corner] = ~is_bare & (seen >= 6) & near
    return whole, stands


def _window(table: TableMap) -> tuple[TableGrid, tuple[slice, slice], Bool[np.ndarray, "row column"]]:
    """The part of the grid around cells that are not bare yet: its grid, its place, and which of it is near them."""
    near = grown(~table.is_bare & np.isfinite(table.colour[..., 0]), _WINDOW_CELLS)
    rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
    if not len(rows):
        rows = columns = np.array([0, 1])
    grid, y, x = table.grid, slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)
    part = TableGrid(
        grid.x0_m + x.start * grid.cell_m, grid.y0_m + y.start * grid.cell_m, grid.cell_m,
        (y.stop - y.start, x.stop - x.start), grid.height_m,
    )  # fmt: skip
    return part, (y, x), near[y, x]


def pose_of(placed: Placed) -> SE3:
    """Its pose, which it has to have here."""
    assert placed.pose is not None
    return placed.pose


def _largest_agreement(
    samples: Float[np.ndarray, "view row column 3"],
) -> tuple[Float[np.ndarray, "row column 3"], np.ndarray]:
    """Mean colour and size of each cell's largest set of views that agree with one of them."""
    views, rows, columns, _ = samples.shape
    cells = samples.reshape(views, -1, 3).transpose(1, 0, 2)
    known = np.isfinite(cells[..., 0])
    cells = np.nan_to_num(cells)
    colour = np.full((rows * columns, 3), np.nan)
    count = np.zeros(rows * columns, dtype=np.int64)
    for start in range(0, len(cells), _CHUNK):
        part = slice(start, start + _CHUNK)
        x, k = cells[part], known[part]
        near = (np.abs(x[:, :, None] - x[:, None, :]).max(axis=-1) < _TOLERANCE) & k[:, None, :] & k[:, :, None]
        best = near[np.arange(len(x)), near.sum(axis=2).argmax(axis=1)]  # (cell, view)
        count[part] = best.sum(axis=1)
        mean = (x * best[..., None]).sum(axis=1) / np.maximum(count[part], 1)[:, None]
        colour[part] = np.where(count[part][:, None] > 0, mean, np.nan)
    return colour.reshape(rows, columns, 3), count.reshape(rows, columns)


def standing_cells(
    placed: list[Placed], grid: TableGrid
) -> tuple[Float[np.ndarray, "row column 3"], Bool[np.ndarray, "row column"]]:
    """Median colour of each cell, and where views disagree so much that something must stand there."""
    import cv2

    from gemel.stages.segment.table_map import median_known

    layers = [cv2.GaussianBlur(p.view.image, (0, 0), 1.0).astype(np.float64) for p in placed]
    samples = sample_views(
        layers, [p.view for p in placed], [pose_of(p) for p in placed], grid, [p.near_robot for p in placed]
    )
    colour = median_known(samples)
    spread = median_known(np.abs(samples - colour)).max(axis=-1)
    rough = (spread > 3.0 * np.nanmedian(spread)).astype(np.uint8)
    rough = cv2.morphologyEx(rough, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    rough = cv2.dilate(rough, np.ones((5, 5), np.uint8))
    return colour, np.asarray(cv2.morphologyEx(rough, cv2.MORPH_CLOSE, np.ones((15, 15), np.uint8)) > 0)
