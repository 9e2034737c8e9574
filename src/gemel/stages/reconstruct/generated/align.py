"""A model of unknown scale and pose -> its place among the observations, by render-and-compare.

Rotations all over are scored by how well points of the model and of the masks cover each other; the best are moved by
their outlines (outline_step.py), and the one whose outlines and colours agree best wins.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gemel.errors import SourceError
from gemel.geometry import sample_surface
from gemel.services.formats.mesh_file import MeshFile
from gemel.stages.reconstruct.checks.sightlines import meeting, sightlines
from gemel.stages.reconstruct.generated.looks_alike import colour_disagreement
from gemel.stages.reconstruct.generated.outline_step import Scene, outline_step, overlap
from gemel.stages.reconstruct.generated.similarity_pose import SimilarityPose, spread_rotations
from gemel.stages.reconstruct.remesh import Mesh
from gemel.stages.reconstruct.silhouettes import silhouette_distances
from gemel.stages.reconstruct.views import Views

_ROTATIONS = 900
_MODEL_POINTS, _MASK_POINTS = 200, 100
_SEARCHED_VIEWS, _TRIED_VIEWS = 4, 8
_TRIED = 16
_FINISHED = 4
_TRIAL_STEPS, _FINAL_STEPS = 10, 20
_SAME_RAD = 0.2
"""Poses that differ by a smaller turn end at one place."""
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
    model: MeshFile,
    coarse: Mesh,
    views: Views,
    *,
    table_z: float | None,
    rng: np.random.Generator,
) -> Alignment:
    """The similarity that brings the model to the object; SourceError if none makes it look like it.

    `coarse` is the same surface with fewer faces: good enough to try rotations, too round at edges to measure with.
    """
    centre, radius_m = _whereabouts(views, table_z)
    scene = Scene(views, silhouette_distances(views), table_z, centre)
    middle = 0.5 * (model.vertices.min(axis=0) + model.vertices.max(axis=0))
    unit, rough = (model.vertices - middle, model.faces), (coarse[0] - middle, coarse[1])
    scale = radius_m / _mean_radius(rough)

    def disagreement(pose: SimilarityPose) -> float:
        return colour_disagreement((pose(unit[0]), unit[1]), model.colours, views, rng)

    starts = [SimilarityPose(scale, R, centre) for R in spread_rotations(_ROTATIONS)]
    scores = _coverage_scores(rough, starts, scene, rng)
    tried_views = _spread(len(views), _TRIED_VIEWS)
    tried = [_stepped(rough, starts[i], scene, tried_views, _TRIAL_STEPS) for i in np.argsort(scores)[:_TRIED]]
    order = np.argsort([-overlap(rough, pose, views, tried_views) for pose in tried])
    every = np.arange(len(views))
    finished = [_stepped(unit, pose, scene, every, _FINAL_STEPS) for pose in _distinct([tried[i] for i in order])]
    best = max(finished, key=lambda pose: overlap(unit, pose, views, every) - _COLOUR_WEIGHT * disagreement(pose))
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


def _distinct(poses: list[SimilarityPose]) -> list[SimilarityPose]:
    """The first few that differ from those before by more than a step would make up for."""
    kept: list[SimilarityPose] = []
    for pose in poses:
        turns = [np.trace(pose.R_world_model.T @ other.R_world_model) for other in kept]
        if all(turn < 1.0 + 2.0 * np.cos(_SAME_RAD) for turn in turns):
            kept.append(pose)
    return kept[:_FINISHED]


def _spread(count: int, wanted: int) -> Int[np.ndarray, " n"]:
    return np.unique(np.linspace(0, count - 1, min(wanted, count)).round().astype(np.int64))
