"""The table top: a flat mesh over what the views see of it, in the colours that most views agree on.

Triangles are even-sided, so that Gaussians on them are round. They are smallest where most pixels fall, and come in
three nested rectangles. What moves over the table and its shadow vanish in the median; what lies on it hides cells that
are filled from their surroundings and marked as not seen.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import pixel_centres
from gemel.stages.reconstruct.scene.bound import bound_mesh
from gemel.stages.reconstruct.scene.config import SceneConfig
from gemel.stages.reconstruct.scene.fill import filled, with_grain
from gemel.stages.reconstruct.scene.lattice import Box, lattice
from gemel.stages.reconstruct.scene.response import Responses, fit_responses
from gemel.stages.reconstruct.scene.scene_views import SceneViews
from gemel.stages.reconstruct.scene.sight import Sight, look, pixel_values

_EVERY_PX = 4
_LEVELS = ((0.10, 0.55), (0.01, 0.30), (0.0, 0.15))
"""Part of the pixels beyond each side of a rectangle, and the rectangle's part of the Gaussians."""
_SCALE = 1.7
"""Size of Gaussians on their faces: smaller ones are sharper, larger ones leave fewer gaps."""
_GRAIN_REACH_M = 0.25
_DISPUTE = 0.15
"""Half of the views differ by so much in brightness (0 to 1) where they do not see one and the same place."""
_FEWEST_JUDGES = 4
_UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Table:
    """The table's mesh, and how cameras differ on it."""

    mesh: SplatMesh
    responses: Responses


@dataclass(frozen=True, eq=False)
class Lattice:
    """Triangles in the plane, in nested rectangles."""

    vertices: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "f 3"]
    level: Int[np.ndarray, " f"]
    """Rectangle of each face, 0 is the innermost."""

    @property
    def middles(self) -> Float[np.ndarray, "f 3"]:
        """Middles of the faces [m]."""
        return np.asarray(self.vertices[self.faces].mean(axis=1))

    def kept(self, is_kept: Bool[np.ndarray, " f"]) -> "Lattice":
        """Some of the faces; vertices that none of them uses are dropped."""
        used, renumbered = np.unique(self.faces[is_kept], return_inverse=True)
        return Lattice(self.vertices[used], renumbered.reshape(-1, 3), self.level[is_kept])


def table_box(views: SceneViews, height_m: float, reach_m: float) -> "tuple[Box, Float[np.ndarray, 'n 2']] | None":
    """What of the table's plane views see, at most `reach_m` from its middle, and places that pixels fall on."""
    places = []
    for v in views.fitted:
        shape = views.images[v].shape
        rays = views.rays(int(v), pixel_centres(shape[1], shape[0])[::_EVERY_PX, ::_EVERY_PX].reshape(-1, 2))
        centre = views.centre(int(v))
        rays = rays[rays[:, 2] < -0.02]
        places.append((centre + rays * ((height_m - centre[2]) / rays[:, 2:]))[:, :2])
    hits = np.concatenate(places) if places else np.zeros((0, 2))
    if not len(hits):
        return None
    middle = np.median(hits, axis=0)
    hits = hits[(np.abs(hits - middle) < reach_m).all(axis=1)]
    return np.stack([hits.min(axis=0), hits.max(axis=0)]), hits


def reconstruct_table(
    views: SceneViews, height_m: float, config: SceneConfig, rng: np.random.Generator
) -> Table | None:
    """The table; None if no view sees its plane."""
    found = table_box(views, height_m, config.table_reach_m)
    if found is None:
        return None
    box, hits = found
    grid = nested_lattice(hits, box, config, height_m)
    grid = grid.kept(_is_in_view(views, grid) | (grid.level < len(_LEVELS) - 1))
    sight = _look_down(views, grid)
    responses = _responses(views, sight)
    is_flat = ~disputed_faces(grid, sight.plain(views.camera, responses))
    grid, is_seen = grid.kept(is_flat), sight.is_seen_enough[is_flat]
    colours = sight.medians(views.camera, responses)[is_flat]
    places = grid.middles[:, :2]
    smooth = filled(places, np.where(is_seen[:, None], colours, 0.5), is_seen)
    colours = with_grain(places, smooth, is_seen, _GRAIN_REACH_M, rng)
    return Table(bound_mesh(grid.vertices, grid.faces, colours, is_seen, _SCALE), responses)


def _look_down(views: SceneViews, grid: Lattice) -> Sight:
    points = grid.middles
    return look(
        views,
        lambda v: points,
        lambda v: np.broadcast_to(_UP, points.shape),
        lambda v, p_camera, pixels: ~pixel_values(views.robot[v], pixels, outside=True),
    )


def disputed_faces(grid: Lattice, colours: Float[np.ndarray, "w f 3"]) -> Bool[np.ndarray, " f"]:
    """Faces on which views disagree: what they see there lies behind the table's edge, not on it.

    Only where neighbours are disputed, too, and never in the innermost rectangle, where shadows move.
    """
    from scipy.spatial import cKDTree

    grey = np.sort(colours.mean(axis=-1), axis=0)
    count = np.isfinite(grey).sum(axis=0)
    low, high = (np.take_along_axis(grey, (count[None] * part).astype(np.int64), axis=0)[0] for part in (0.25, 0.74))
    is_wide = (count >= _FEWEST_JUDGES) & (high - low > _DISPUTE) & (grid.level > 0)
    places = grid.middles
    near = cKDTree(places).query(places, k=min(13, len(places)))[1]
    return is_wide[near].mean(axis=1) > 0.5


def nested_lattice(hits: Float[np.ndarray, "n 2"], box: Box, config: SceneConfig, height_m: float) -> Lattice:
    """Three rectangles of triangles, each round the finer one before it, within the budget."""
    wanted = float(config.table_gaussians)
    while True:
        grid = _nested(hits, box, wanted, config.table_edge_m, height_m)
        if len(grid.faces) <= config.table_gaussians:
            return grid
        wanted *= 0.95  # rims and overlaps come on top


def _nested(
    hits: Float[np.ndarray, "n 2"], box: Box, wanted: float, shortest_edge_m: float, height_m: float
) -> Lattice:
    inner: Box | None = None
    parts, starts, edge_m = [], 0, shortest_edge_m
    for beyond, share in _LEVELS:
        low, high = np.quantile(hits, [beyond, 1.0 - beyond], axis=0)
        outer = np.stack([np.maximum(low, box[0]), np.minimum(high, box[1])])
        area = float(np.prod(outer[1] - outer[0]) - (np.prod(inner[1] - inner[0]) if inner is not None else 0.0))
        edge_m = max(edge_m, float(np.sqrt(max(area, 0.0) / (np.sqrt(3.0) / 4.0 * share * wanted))))
        vertices, faces = lattice(outer, edge_m)
        if inner is not None:
            is_inside = ((vertices > inner[0]) & (vertices < inner[1])).all(axis=1)
            faces = faces[~is_inside[faces].all(axis=1)]
        parts.append((vertices, faces + starts))
        starts, inner = starts + len(vertices), outer
    flat = np.concatenate([vertices for vertices, _ in parts])
    return Lattice(
        np.column_stack([flat, np.full(len(flat), height_m)]),
        np.concatenate([faces for _, faces in parts]),
        np.repeat(np.arange(len(parts)), [len(faces) for _, faces in parts]),
    )


def _is_in_view(views: SceneViews, grid: Lattice) -> Bool[np.ndarray, " f"]:
    """Faces with a corner in some image, whatever hides it there."""
    is_shown = np.zeros(len(grid.vertices), dtype=bool)
    for v in views.distinct:
        size = np.array(views.images[v].shape[1::-1])
        pixels = views.pixels(int(v), grid.vertices)[1]
        is_shown |= ((pixels >= 0.0) & (pixels <= size)).all(axis=1)
    return is_shown[grid.faces].any(axis=1)


def _responses(views: SceneViews, sight: Sight) -> Responses:
    """From each camera's own median of the table."""
    plain = Responses.alike(len(views.camera_names))
    colours: list[np.ndarray] = []
    is_seen: list[Bool[np.ndarray, " n"]] = []
    counts = np.bincount(views.camera[views.fitted], minlength=len(views.camera_names))
    for c in range(len(views.camera_names)):
        own = views.camera[sight.views] == c
        part = sight.of(own)
        is_seen.append(np.asarray(part.is_seen.any(axis=0)))
        colours.append(np.nan_to_num(part.medians(views.camera, plain)) if own.any() else np.zeros_like(colours[0]))
    return fit_responses(np.stack(colours), np.stack(is_seen), counts)
