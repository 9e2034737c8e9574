"""Settling where every view was taken from: moving cameras against the table, standing ones against its map."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from gemel.stages.segment.background import Backdrop, TableMap, camera_median
from gemel.stages.segment.bare_table import standing_cells
from gemel.stages.segment.placed import Placed, grown
from gemel.stages.segment.table_align import (
    BLURS_PX,
    Corrected,
    align_to_table,
    fit_shared,
    map_layers,
    see,
    table_feature,
)
from gemel.stages.segment.table_map import TableGrid, plane_points, table_grid
from gemel.stages.segment.view import View

_KEY_VIEWS = 30
_KEY_FIXED = 6
_FIXED_WEIGHT = 2.0


@dataclass(frozen=True, eq=False)
class Scene:
    """The table and the cameras above it, as the scan shows them."""

    table: TableMap
    """With the object still standing on it."""
    correction_from_camera: dict[str, np.ndarray]
    """What all views of a camera share."""
    keys: list[Placed]
    """The views that the scene was made of, moving cameras first, and some of each standing camera."""


def settle_scene(views: list[View], height_m: float) -> Scene | None:
    """The scene of one scan, or None when no moving camera sees enough of the table from enough places."""
    moving = _spread([v for v in views if not v.is_fixed and v.is_placed], _KEY_VIEWS)
    grid = table_grid(moving, height_m) if len(moving) >= 6 else None
    if grid is None:
        return None
    hidden = [_near_robot(v) for v in moving]
    states = align_to_table(moving, grid, hidden)
    _, rough = standing_cells(_placed(moving, states), grid)
    hidden = [
        h | standing_pixels(v, s, grid, rough) for v, s, h in zip(moving, states, hidden, strict=True)
    ]  # fmt: skip
    states = align_to_table(moving, grid, hidden)
    colour, rough = standing_cells(_placed(moving, states), grid)
    correction = {v.camera: s.shared for v, s in zip(moving, states, strict=True)}
    keys = _placed(moving, states)
    for camera in dict.fromkeys(v.camera for v in views if v.is_fixed and v.is_placed):
        of = [v for v in views if v.camera == camera]
        correction[camera] = _fixed_correction(of, moving, states, hidden, grid, rough)
        some = _spread(of, _KEY_FIXED)
        keys += [place(v, correction, weight=_FIXED_WEIGHT / len(some)) for v in some]
    return Scene(TableMap(grid, colour, ~rough & np.isfinite(colour[..., 0])), correction, keys)


def place(view: View, correction_from_camera: dict[str, np.ndarray], *, weight: float = 1.0) -> Placed:
    """The view at its corrected pose."""
    if not view.is_placed:
        return Placed(view, None, weight)
    shared = correction_from_camera.get(view.camera)
    if shared is None:
        return Placed(view, view.T_world_camera, weight)
    return Placed(view, Corrected(shared, np.zeros(6)).pose(view), weight)


def standing_pixels(
    view: View, state: Corrected, grid: TableGrid, cells: Bool[np.ndarray, "row column"]
) -> Bool[np.ndarray, "h w"]:
    """Pixels whose rays meet the table in one of the cells, or near one."""
    import cv2

    assert view.model is not None
    points = plane_points(view.model, state.pose(view), grid.height_m)
    at = np.nan_to_num(grid.places(points), nan=-9.0).clip(-9.0, 1e5).astype(np.float32)
    return np.asarray(cv2.remap(grown(cells, 2).astype(np.uint8), at[..., 0], at[..., 1], cv2.INTER_NEAREST) > 0)


def _fixed_correction(
    views: list[View], moving: list[View], states: list[Corrected], hidden: list[Bool[np.ndarray, "_ _"]],
    grid: TableGrid, rough: Bool[np.ndarray, "row column"],
) -> np.ndarray:  # fmt: skip
    """The mounting of a standing camera: its median image against the map that the moving cameras made."""
    still: Backdrop = camera_median(views, [_near_robot(v) for v in views])
    view = replace(views[0], image=still.colour.clip(0, 255).astype(np.uint8))
    state = Corrected(np.zeros(6), np.zeros(6))
    for blur in BLURS_PX:
        layers = map_layers([table_feature(v.image, blur) for v in moving], moving, states, grid, hidden)
        blind = standing_pixels(view, state, grid, rough) | ~still.is_known
        seen = see(view, table_feature(view.image, blur), blind)
        for _ in range(4):
            (state,) = fit_shared([seen], [state], layers, grid)
    return state.shared


def _placed(views: list[View], states: list[Corrected]) -> list[Placed]:
    return [Placed(v, s.pose(v)) for v, s in zip(views, states, strict=True)]


def _near_robot(view: View) -> Bool[np.ndarray, "h w"]:
    return Placed(view, None).near_robot


def _spread(views: list[View], most: int) -> list[View]:
    """At most so many of them, evenly spread."""
    if len(views) <= most:
        return views
    return [views[i] for i in np.unique(np.linspace(0, len(views) - 1, most).round().astype(int))]
