"""The shade that an object lays on the table round itself, and that follows it.

Light from all sides is kept off by a wall of height h at distance d by the part F(d, h) = (1 - d / sqrt(d² + h²)) / 2
(the form factor of a long wall, as in any text on radiosity). An object of height H that floats a gap g over the table
keeps off F(d, H + g) - F(d + w, g), where w is its width: a lifted object's shade pales and vanishes. `strength` is how
much of the light comes from all sides, `spread` scales H, and `lean` shifts the footprint for light that comes from one
side more. They are fitted to the table's own colours: what is darker round the object in the scan is its shade.

This file's whole point is torch, so it imports torch at module level.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - shades the colours that are drawn
from jaxtyping import Bool, Float, Float32
from torch import Tensor  # noqa: TID253

from gemel.artifacts.splatmesh import SplatMesh
from gemel.services.render.mesh_raster import silhouette

_CELL_M = 0.003
_MOST_CELLS = 400
_REACH = 6.0
"""How far shade is looked for, in heights of the object."""
_SAME_TILT = 0.02
"""Footprints of poses whose rotations differ by less, apart from the turn on the table, are the same."""


@dataclass(frozen=True)
class ContactShadow:
    """How objects shade the table; all zero: not at all."""

    strength: float = 0.0
    """Part of the light that an endless wall close by would keep off, times two."""
    spread: float = 1.0
    """Apparent over true height."""
    lean: tuple[float, float] = (0.0, 0.0)
    """By how much the shade is shifted, per metre of height, along x and y of the world."""


@dataclass(frozen=True, eq=False)
class Footprint:
    """The outline of a tilted object from above, as distances on a grid."""

    R_level_object: Float[np.ndarray, "3 3"]
    """The object's rotation without its turn on the table."""
    distance_m: Float32[np.ndarray, "y x"]
    """From the outline, negative inside."""
    low: Float[np.ndarray, "2"]
    """Where the grid starts in x and y [m]."""
    cell_m: float
    bottom_m: float
    """Lowest point below the object's origin, as a z [m]."""
    height_m: float

    @property
    def width_m(self) -> float:
        """Width of its widest part [m]."""
        return -2.0 * float(self.distance_m.min())


def footprint(mesh: SplatMesh, R_level_object: Float[np.ndarray, "3 3"]) -> Footprint:
    """The footprint of an object that is tilted so."""
    from scipy.ndimage import distance_transform_edt

    p = mesh.vertices @ R_level_object.T
    bottom, top = float(p[:, 2].min()), float(p[:, 2].max())
    margin = _REACH * (top - bottom)
    low, high = p[:, :2].min(axis=0) - margin, p[:, :2].max(axis=0) + margin
    cell = max(_CELL_M, float((high - low).max()) / _MOST_CELLS)
    width, height = (int(n) for n in np.ceil((high - low) / cell))
    flat = np.column_stack([p[:, :2] - low, np.ones(len(p))])  # at distance one, a pinhole camera sees plans
    is_inside = silhouette(flat, mesh.faces, np.array([1.0 / cell, 1.0 / cell, 0.0, 0.0]), width, height)
    outside, inside = distance_transform_edt(~is_inside), distance_transform_edt(is_inside)
    distance = (cell * (outside - inside)).astype(np.float32)
    return Footprint(R_level_object, distance, low, cell, bottom, top - bottom)


@dataclass(frozen=True, eq=False)
class Around:
    """Places of the table round one object, in scenes in which it is tilted alike."""

    scenes: Tensor
    """Which of the scenes they are, (k,)."""
    distances_m: Tensor
    """Of the places from its outline, (k, n) [m]."""
    gaps_m: Tensor
    """Under it, (k,) [m]."""
    foot: Footprint


class ShadowCaster:
    """One object's shade, wherever it is; footprints are kept while the object only slides and turns."""

    def __init__(self, mesh: SplatMesh, table_height_m: float, device: str) -> None:
        self._mesh, self._table_height_m, self._device = mesh, table_height_m, device
        self._last: tuple[Footprint, Tensor] | None = None

    def kept_light(self, shadow: ContactShadow, Ts_world_object: Float[np.ndarray, "b 4 4"], p_table: Tensor) -> Tensor:
        """Part of the light that places (n, 2) of the table keep in each of b scenes, 0 to 1, (b, n)."""
        kept = p_table.new_empty(len(Ts_world_object), len(p_table))
        for around in self.distances(Ts_world_object, p_table, shadow.lean):
            foot, gaps_m = around.foot, around.gaps_m[:, None]
            hidden = occlusion(around.distances_m, shadow.spread * foot.height_m, gaps_m, foot.width_m)
            # Under an object more than half of the sky is hidden, which strengths above one would make less than dark.
            kept[around.scenes] = (1.0 - shadow.strength * hidden).clamp(min=0.0)
        return kept

    def distances(
        self, Ts_world_object: Float[np.ndarray, "b 4 4"], p_table: Tensor, lean: tuple[float, float] = (0.0, 0.0)
    ) -> Iterator[Around]:
        """Distances of places (n, 2), for all scenes in which the object is tilted alike at a time."""
        Rs, ts = Ts_world_object[:, :3, :3], Ts_world_object[:, :3, 3]
        yaws = np.arctan2(Rs[:, 1, 0], Rs[:, 0, 0])
        c, s = np.cos(yaws), np.sin(yaws)
        turns = np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)
        levels = np.concatenate([np.swapaxes(turns, 1, 2) @ Rs[:, :2], Rs[:, 2:]], axis=1)
        left = np.arange(len(Rs))
        while len(left):
            foot, grid = self._footprint(levels[left[0]])
            is_alike = ~_is_other(levels[left], foot)
            rows, left = left[is_alike], left[~is_alike]
            gaps = np.maximum(ts[rows, 2] + foot.bottom_m - self._table_height_m, 0.0)
            middles = ts[rows, :2] + np.asarray(lean) * (gaps + 0.5 * foot.height_m)[:, None]
            local = (p_table - self._tensor(middles)[:, None]) @ self._tensor(turns[rows])
            size = self._tensor(np.array(foot.distance_m.shape[::-1]))
            at = 2.0 * (local - self._tensor(foot.low)) / (foot.cell_m * size) - 1.0
            found = torch.nn.functional.grid_sample(
                grid, at[None], mode="bilinear", padding_mode="border", align_corners=False
            )
            yield Around(torch.as_tensor(rows, device=self._device), found[0, 0], self._tensor(gaps), foot)

    def _footprint(self, R_level: Float[np.ndarray, "3 3"]) -> tuple[Footprint, Tensor]:
        if self._last is None or _is_other(R_level, self._last[0]):
            foot = footprint(self._mesh, R_level)
            self._last = foot, self._tensor(foot.distance_m)[None, None]
        return self._last

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.as_tensor(values, dtype=torch.float32, device=self._device)


def _is_other(R_level_object: Float[np.ndarray, "*b 3 3"], foot: Footprint) -> Bool[np.ndarray, "*b"]:
    """Whether an object that is tilted so has another footprint."""
    return np.asarray(np.abs(R_level_object - foot.R_level_object).max(axis=(-2, -1)) > _SAME_TILT)


def occlusion(distance_m: Tensor, height_m: float, gap_m: Tensor, width_m: float) -> Tensor:
    """Part of the sky that an object hides from places at a distance from its outline; a half on the outline."""
    hidden = _wall(distance_m, height_m + gap_m) - _wall(distance_m + width_m, gap_m)
    return hidden.clamp(min=0.0)


def _wall(distance_m: Tensor, height_m: Tensor) -> Tensor:
    return 0.5 * (1.0 - distance_m / torch.sqrt(distance_m.square() + height_m**2 + 1e-12))
