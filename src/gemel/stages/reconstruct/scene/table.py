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
from gemel.stages.reconstruct.scene.response import Responses, fit_responses
from gemel.stages.reconstruct.scene.scene_views import SceneViews
from gemel.stages.reconstruct.scene.sight import Sight, look, pixel_values

_EVERY_PX = 4
_LEVELS = ((0.10, 0.55), (0.01, 0.30), (0.0, 0.15))
"""Part of the pixels beyond each side of a rectangle, and the rectangle's part of the Gaussians."""
_SCALE = 2.0
"""Gaussians overlap so much that the table is opaque."""
_GRAIN_REACH_M = 0.25
_UP = np.array([0.0, 0.0, 1.0])

Box = Float[np.ndarray, "2 2"]
"""Low and high corner, x and y [m]."""


@dataclass(frozen=True, eq=False)
class Table:
    """The table's mesh, how cameras differ on it, and where it ends."""

    mesh: SplatMesh
    responses: Responses
    box: Box


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
    vertices, faces = _in_view(views, *nested_lattice(hits, box, config, height_m))
    points = vertices[faces].mean(axis=1)
    sight = look(
        views, lambda v: points, lambda v: np.broadcast_to(_UP, points.shape),
        lambda v, p_camera, pixels: ~pixel_values(views.robot[v], pixels, outside=True),
    )  # fmt: skip
    responses = _responses(views, sight)
    is_seen = sight.is_seen_enough
    colours = sight.medians(views.camera, responses)
    smooth = filled(points[:, :2], np.where(is_seen[:, None], colours, 0.5), is_seen)
    colours = with_grain(points[:, :2], smooth, is_seen, _GRAIN_REACH_M, rng)
    return Table(bound_mesh(vertices, faces, colours, is_seen, _SCALE), responses, box)


def nested_lattice(
    hits: Float[np.ndarray, "n 2"], box: Box, config: SceneConfig, height_m: float
) -> tuple[Float[np.ndarray, "v 3"], Int[np.ndarray, "f 3"]]:
    """Three rectangles of triangles, each round the finer one before it."""
    inner: Box | None = None
    parts, starts, edge_m = [], 0, config.table_edge_m
    for beyond, share in _LEVELS:
        low, high = np.quantile(hits, [beyond, 1.0 - beyond], axis=0)
        outer = np.stack([np.maximum(low, box[0]), np.minimum(high, box[1])])
        area = float(np.prod(outer[1] - outer[0]) - (np.prod(inner[1] - inner[0]) if inner is not None else 0.0))
        budget = share * config.table_gaussians
        edge_m = max(edge_m, float(np.sqrt(max(area, 0.0) / (np.sqrt(3.0) / 4.0 * budget))))
        vertices, faces = lattice(outer, edge_m)
        if inner is not None:
            is_inside = ((vertices > inner[0]) & (vertices < inner[1])).all(axis=1)
            faces = faces[~is_inside[faces].all(axis=1)]
        parts.append((vertices, faces + starts))
        starts, inner = starts + len(vertices), outer
    flat = np.concatenate([vertices for vertices, _ in parts])
    vertices = np.column_stack([flat, np.full(len(flat), height_m)])
    return vertices, np.concatenate([faces for _, faces in parts])


def lattice(box: Box, edge_m: float) -> tuple[Float[np.ndarray, "v 2"], Int[np.ndarray, "f 3"]]:
    """Even-sided triangles that cover a rectangle, seen from above counter-clockwise."""
    size = box[1] - box[0]
    rise_m = np.sqrt(0.75) * edge_m
    columns, rows = int(np.ceil(size[0] / edge_m)) + 2, int(np.ceil(size[1] / rise_m)) + 1
    j, i = np.mgrid[:rows, :columns]
    x = box[0, 0] + (i + 0.5 * (j % 2) - 0.5) * edge_m
    vertices = np.stack([x, box[0, 1] + j * rise_m], axis=-1).reshape(-1, 2)
    a = (j * columns + i)[:-1, :-1]
    b, c, d = a + 1, a + columns, a + columns + 1
    is_even = (j % 2 == 0)[:-1, :-1, None]
    first = np.where(is_even, np.stack([a, b, c], -1), np.stack([a, b, d], -1))
    second = np.where(is_even, np.stack([b, d, c], -1), np.stack([a, d, c], -1))
    return vertices, np.concatenate([first.reshape(-1, 3), second.reshape(-1, 3)]).astype(np.int64)


def _in_view(
    views: SceneViews, vertices: Float[np.ndarray, "v 3"], faces: Int[np.ndarray, "f 3"]
) -> tuple[Float[np.ndarray, "w 3"], Int[np.ndarray, "g 3"]]:
    """Faces with a corner in some image, whatever hides it there; vertices that none uses are dropped."""
    is_shown = np.zeros(len(vertices), dtype=bool)
    for v in views.fitted:
        size = np.array(views.images[v].shape[1::-1])
        pixels = views.pixels(int(v), vertices)[1]
        is_shown |= ((pixels >= 0.0) & (pixels <= size)).all(axis=1)
    kept = faces[is_shown[faces].any(axis=1)]
    used, renumbered = np.unique(kept, return_inverse=True)
    return vertices[used], renumbered.reshape(-1, 3)


def _responses(views: SceneViews, sight: Sight) -> Responses:
    """From each camera's own median of the table."""
    plain = Responses.alike(len(views.camera_names))
    colours: list[np.ndarray] = []
    is_seen: list[Bool[np.ndarray, " n"]] = []
    counts = np.bincount(views.camera[views.fitted], minlength=len(views.camera_names))
    for c in range(len(views.camera_names)):
        own = views.camera[sight.views] == c
        part = Sight(sight.views[own], sight.is_seen[own], sight.colours[own])
        is_seen.append(part.is_seen.any(axis=0))
        colours.append(np.nan_to_num(part.medians(views.camera, plain)) if own.any() else np.zeros_like(colours[0]))
    return fit_responses(np.stack(colours), np.stack(is_seen), counts)
