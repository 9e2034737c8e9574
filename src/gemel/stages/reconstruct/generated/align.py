"""A model of unknown scale and pose -> its place among the observations, by render-and-compare.

Rotations all over are scored by how well points of the model and of the masks cover each other; the best are moved by
their outlines (outline_step.py), and the one whose outlines and colours agree best wins.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import SourceError
from gemel.geometry import sample_surface
from gemel.stages.reconstruct.checks.sightlines import meeting, sightlines
from gemel.stages.reconstruct.generated.outline_step import Scene, colour_difference, outline_step, overlap
from gemel.stages.reconstruct.generated.similarity_pose import SimilarityPose, spread_rotations
from gemel.stages.reconstruct.remesh import Mesh
from gemel.stages.reconstruct.silhouettes import silhouette_distances
from gemel.stages.reconstruct.views import Views

_ROTATIONS = 900
_MODEL_POINTS, _MASK_POINTS = 200, 100
_SEARCHED_VIEWS, _TRIED_VIEWS = 4, 8
_TRIED = 20
_FINISHED = 3
_TRIAL_STEPS, _FINAL_STEPS = 10, 30
_COLOUR_WEIGHT = 1.0
"""A colour difference of so much is worth an overlap of as much."""
_LEAST_OVERLAP = 0.6


@dataclass(frozen=True, eq=False)
class Alignment:
    """Where a model was found to be."""

    pose: SimilarityPose
    overlap: float
    """Mean overlap of its outline with the masks, 0 to 1."""


def align(
    mesh: Mesh,
    colours: "Float[np.ndarray, 'v 3'] | None",
    views: Views,
    *,
    table_z: float | None,
    rng: np.random.Generator,
) -> Alignment:
    """The similarity that brings the model to the object; SourceError if none makes it look like it."""
    centre, radius_m = _whereabouts(views, table_z)
    scene = Scene(views, silhouette_distances(views), table_z, centre)
    middle = 0.5 * (mesh[0].min(axis=0) + mesh[0].max(axis=0))
    unit = (mesh[0] - middle, mesh[1])
    scale = radius_m / _mean_radius(unit)
    starts = [SimilarityPose(scale, R, centre) for R in spread_rotations(_ROTATIONS)]
    scores = _coverage_scores(unit, starts, scene, rng)
    tried_views = _spread(len(views), _TRIED_VIEWS)
    tried = [_stepped(unit, starts[i], scene, tried_views, _TRIAL_STEPS) for i in np.argsort(scores)[:_TRIED]]
    order = np.argsort([-_quality(unit, colours, pose, views, tried_views) for pose in tried])
    every = np.arange(len(views))
    finished = [_stepped(unit, tried[i], scene, every, _FINAL_STEPS) for i in order[:_FINISHED]]
    best = max(finished, key=lambda pose: _quality(unit, colours, pose, views, every))
    found = overlap(unit, best, views, every)
    if found < _LEAST_OVERLAP:
        raise SourceError(
            f"The generated model overlaps with the object's masks by {found:.0%} at best: it is another shape.",
            remedy='generate it again from a clearer view, or use `route = "observed"`',
        )
    pose = SimilarityPose(best.scale, best.R_world_model, best.t_world - best.scale * best.R_world_model @ middle)
    return Alignment(pose, found)


def _whereabouts(views: Views, table_z: float | None) -> tuple[Float[np.ndarray, "3"], float]:
    """Centre and radius of the object [m]: where lines of sight meet, or where the only one meets the table."""
    masks = tuple(mask > 0.5 for mask in views.masks)
    nothing = tuple(np.zeros_like(mask) for mask in masks)
    lines = sightlines(masks, nothing, views.Ts_world_camera, views.intrinsics)
    met = meeting(lines)
    if met is not None:
        return met.point, met.radius_m
    if not len(lines):
        raise SourceError("No view shows the whole object.", remedy="give a view in which it is not cut off")
    reach = 1.0  # without table or second view, the distance is the unit of length
    if table_z is not None and lines.rays[0, 2] < -0.05:
        reach = (table_z - lines.eyes[0, 2]) / lines.rays[0, 2]
    radius = float(lines.radii[0]) * reach
    return lines.eyes[0] + (reach - 0.5 * radius) * lines.rays[0], radius


def _mean_radius(mesh: Mesh) -> float:
    """Radius of the disc that the model covers from a random side, about: Cauchy's formula for its convex hull."""
    from scipy.spatial import ConvexHull

    return float(np.sqrt(ConvexHull(mesh[0]).area / 4.0 / np.pi))


def _coverage_scores(
    mesh: Mesh, poses: list[SimilarityPose], scene: Scene, rng: np.random.Generator
) -> Float[np.ndarray, " n"]:
    """Mean distance [px] between points of the model and of the masks, both ways, small is good."""
    views = scene.views
    model = sample_surface(*mesh, _MODEL_POINTS, rng)[0]
    scores = np.zeros(len(poses))
    for v in _spread(len(views), _SEARCHED_VIEWS):
        pixels = np.argwhere((views.masks[v] > 0.5) & ~views.ignore[v])[:, ::-1] + 0.5
        seen = pixels[rng.choice(len(pixels), min(_MASK_POINTS, len(pixels)), replace=False)]
        T, k = views.Ts_camera_world[v], views.intrinsics[v]
        for i, pose in enumerate(poses):
            p_camera = pose(model) @ T[:3, :3].T + T[:3, 3]
            at = p_camera[:, :2] / np.maximum(p_camera[:, 2:], 0.01) * k[:2] + k[2:]
            squared = np.sum(at**2, axis=1)[:, None] + np.sum(seen**2, axis=1) - 2.0 * at @ seen.T
            there, back = np.maximum(squared.min(axis=1), 0.0), np.maximum(squared.min(axis=0), 0.0)
            scores[i] += np.sqrt(there).mean() + np.sqrt(back).mean()
    return scores


def _stepped(
    mesh: Mesh, pose: SimilarityPose, scene: Scene, chosen: Int[np.ndarray, " n"], steps: int
) -> SimilarityPose:
    for _ in range(steps):
        pose = outline_step(mesh, pose, scene, chosen)
    return pose


def _quality(
    mesh: Mesh, colours: "np.ndarray | None", pose: SimilarityPose, views: Views, chosen: Int[np.ndarray, " n"]
) -> float:
    quality = overlap(mesh, pose, views, chosen)
    if colours is not None:
        quality -= _COLOUR_WEIGHT * colour_difference(mesh, colours, pose, views, chosen)
    return quality


def _spread(count: int, wanted: int) -> Int[np.ndarray, " n"]:
    return np.unique(np.linspace(0, count - 1, min(wanted, count)).round().astype(np.int64))
