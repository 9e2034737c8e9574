"""An object's mesh as a solid: how much it encloses, where that sits, and how well the mesh knows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import bounds, face_areas, is_watertight, is_winding_consistent, volume_moments
from gemel.geometry.mesh_cut import moments_above

Points = Float[np.ndarray, "n 3"]
_VOLUME_SIGMA = 0.06
"""Median relative error of reconstructed volumes (`benchmarks/results/reconstruct-2core.json`, volume_error)."""
_INVENTED_SIGMA = 0.15
"""Further relative error if no camera had seen any of the surface, in proportion to what is unseen; our own judgement.
Hollows that no camera saw are far larger errors: they are the material's fill."""
_POSITION_SIGMA = 0.01
"""Error of the surface over the object's size: about 1.6 mm on 15 cm in the same benchmark."""
_INTERIOR_POINTS = 512
_LINES = 256
_ROWS = 10_000
"""Rows of a matrix of points by hull faces that is in memory at once."""


@dataclass(frozen=True, eq=False)
class Slab:
    """The part of a solid between two planes across one axis."""

    volume_m3: float
    centroid: Float[np.ndarray, "3"]


@dataclass(frozen=True, eq=False)
class Solid:
    """What a watertight mesh encloses, in the object's frame."""

    vertices: Float[np.ndarray, "v 3"]
    faces: Int[np.ndarray, "f 3"]
    volume_m3: float
    centroid: Float[np.ndarray, "3"]
    bounds: Float[np.ndarray, "2 3"]
    hull: Float[np.ndarray, "m 4"]
    """Outward unit normals and offsets: n · p + d <= 0 inside the convex hull."""
    interior: Points
    """Points spread evenly through the solid."""
    invented: float
    """Part of the surface that no camera saw."""
    is_mesh_solid: bool
    """False when the mesh encloses nothing and its convex hull stands for it."""

    @property
    def extents(self) -> Float[np.ndarray, "3"]:
        """Size along the axes [m]."""
        return np.asarray(self.bounds[1] - self.bounds[0])

    @property
    def log_volume_sigma(self) -> float:
        """How far the logarithm of the volume may be off (standard deviation)."""
        return float(np.hypot(_VOLUME_SIGMA, _INVENTED_SIGMA * self.invented))

    @property
    def position_sigma_m(self) -> float:
        """How far the middle of the solid may be off, along each axis [m]."""
        return _POSITION_SIGMA * (1.0 + self.invented) * float(np.max(self.extents))

    def slabs(self, cuts: Sequence[float], axis: int) -> list[Slab]:
        """The parts between ascending cuts (fractions 0 to 1 of the extent along `axis`), first to last."""
        heights = [self.bounds[0, axis] + cut * self.extents[axis] for cut in cuts]
        above = [(self.volume_m3, self.volume_m3 * self.centroid)]
        above += [moments_above(self.vertices, self.faces, axis, float(height)) for height in heights]
        above.append((0.0, np.zeros(3)))
        slabs = []
        for (volume, first), (next_volume, next_first) in pairwise(above):
            inside = max(volume - next_volume, 0.0)
            slabs.append(Slab(inside, (first - next_first) / inside if inside > 0.0 else self.centroid))
        return slabs

    def is_in_hull(self, points: Points, *, slack_m: float = 1e-9) -> Bool[np.ndarray, " n"]:
        """Whether points lie in the convex hull."""
        return np.all(points @ self.hull[:, :3].T + self.hull[:, 3] <= slack_m, axis=1)

    def pulled_into_hull(self, points: Points) -> Points:
        """Points outside the hull are moved towards the middle of the solid until they touch it."""
        room = -(self.centroid @ self.hull[:, :3].T + self.hull[:, 3])  # (m,), positive
        pulled = []
        for chunk in np.array_split(points, max(len(points) // _ROWS, 1)):
            away = chunk - self.centroid
            reach = away @ self.hull[:, :3].T  # (n, m)
            part = np.where(reach > room, room / np.where(reach > 0.0, reach, 1.0), 1.0).min(axis=1)
            pulled.append(self.centroid + part[:, None] * away)
        return np.concatenate(pulled)


def solid_of(mesh: SplatMesh, rng: np.random.Generator) -> Solid:
    """The solid that an object's mesh encloses; its convex hull where the mesh is open or inside out."""
    from scipy.spatial import ConvexHull

    vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.int64)
    areas = face_areas(vertices, faces)
    invented = float(np.sum(areas[~mesh.is_seen[faces].all(axis=1)]) / max(np.sum(areas), 1e-12))
    hull = ConvexHull(vertices)
    is_solid = is_watertight(vertices, faces) and is_winding_consistent(vertices, faces)
    volume, first, _ = volume_moments(vertices, faces)
    if not (is_solid and volume > 1e-3 * hull.volume):
        is_solid, faces = False, _outward(vertices, hull.simplices, vertices[hull.vertices].mean(axis=0))
        volume, first, _ = volume_moments(vertices, faces)
    box = bounds(vertices, faces)
    return Solid(
        vertices=vertices, faces=faces, volume_m3=volume, centroid=first / volume, bounds=box,
        hull=np.asarray(hull.equations), interior=_interior_points(vertices, faces, box, rng), invented=invented,
        is_mesh_solid=is_solid,
    )  # fmt: skip


def _outward(vertices: Points, faces: np.ndarray, middle: Float[np.ndarray, "3"]) -> Int[np.ndarray, "f 3"]:
    """The faces of a convex body, each wound so that it looks away from the middle."""
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    looks_in = np.einsum("fi,fi->f", np.cross(b - a, c - a), a - middle) < 0.0
    return np.where(looks_in[:, None], faces[:, ::-1], faces).astype(np.int64)


def _interior_points(vertices: Points, faces: np.ndarray, box: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points spread evenly through a closed surface, (k, 3): places on vertical lines, each as likely as it is long."""
    lines = rng.uniform(box[0, :2], box[1, :2], (_LINES, 2))
    corners = vertices[faces]
    low, high = corners[:, :, :2].min(axis=1), corners[:, :, :2].max(axis=1)
    near = [np.all((low <= at) & (at <= high), axis=1) for at in lines]
    pieces = [piece for at, keep in zip(lines, near, strict=True) for piece in _inside(at, corners[keep])]
    if not pieces:  # thinner than the lines are apart
        return vertices[np.unique(faces)].mean(axis=0)[None]
    x, y, below, above = np.array(pieces).T
    chosen = rng.choice(len(pieces), _INTERIOR_POINTS, p=(above - below) / np.sum(above - below))
    return np.stack([x[chosen], y[chosen], rng.uniform(below[chosen], above[chosen])], axis=1)


def _inside(at: Float[np.ndarray, "2"], corners: Float[np.ndarray, "f 3 3"]) -> list[tuple[float, float, float, float]]:
    """x, y, lower and upper end of the parts of the vertical line at (x, y) that lie inside the surface."""
    to = corners[:, :, :2] - at  # (f, 3, 2)
    following = np.roll(to, -1, axis=1)
    turns = to[..., 0] * following[..., 1] - to[..., 1] * following[..., 0]  # (f, 3), weight of the corner before last
    hit = (turns > 0.0).all(axis=1) | (turns < 0.0).all(axis=1)
    weights = np.roll(turns[hit], -1, axis=1) / turns[hit].sum(axis=1, keepdims=True)
    heights = np.sort(np.sum(weights * corners[hit, :, 2], axis=1))
    if len(heights) % 2:  # through an edge
        return []
    return [
        (float(at[0]), float(at[1]), float(z0), float(z1)) for z0, z1 in zip(heights[::2], heights[1::2], strict=True)
    ]
