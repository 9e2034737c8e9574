"""What robot links look like: the model's surfaces in the colours that the views saw on them.

Light on a link changes as it turns; the median over views is its colour. Parts that no view saw take the model's
colour, shifted as the seen parts of the same material are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.geometry import face_normals
from gemel.services.kinematics.link_meshes import LinkMesh
from gemel.stages.reconstruct.scene.config import SceneConfig
from gemel.stages.reconstruct.scene.response import Responses
from gemel.stages.reconstruct.scene.scene_views import SceneViews
from gemel.stages.reconstruct.scene.sight import Sight, look, pixel_values
from gemel.stages.reconstruct.scene.subdivide import Surface, even_surface

_TOLERANCE_M = 0.006
"""A point this far behind the model's own depth is still on its surface: pixels are coarse, faces slope."""
LINK_SCALE = 1.5
"""Size of Gaussians on their faces: smaller ones leave gaps, larger ones reach over the outline."""


@dataclass(frozen=True, eq=False)
class SeenLink:
    """One link's surface and what was seen of it."""

    link: int
    surface: Surface
    """In the link's frame, with the model's colours."""
    colours: Float[np.ndarray, "f 3"]
    """Of each face, as the first camera sees it; NaN where none was seen."""
    is_seen: Bool[np.ndarray, " f"]


def seen_links(
    views: SceneViews, meshes: Sequence[LinkMesh], responses: Responses, config: SceneConfig
) -> list[SeenLink]:
    """Every link with the colours that views saw."""
    inside = [_interior(depth) for depth in views.robot_depth]
    found = []
    for mesh in meshes:
        surface = even_surface(
            (mesh.vertices, mesh.faces, mesh.face_colours), config.link_edge_m, config.link_gaussians
        )
        sight = _look_at_link(views, mesh.link, surface, inside)
        is_seen = sight.is_seen_enough
        colours = sight.medians(views.camera, responses)
        found.append(SeenLink(mesh.link, surface, np.where(is_seen[:, None], colours, np.nan), is_seen))
    return found


def _look_at_link(views: SceneViews, link: int, surface: Surface, inside: Sequence[np.ndarray]) -> Sight:
    vertices, faces, _ = surface
    points, normals = vertices[faces].mean(axis=1), face_normals(vertices, faces)
    poses = views.poses.Ts_world_link[:, link]

    def visible(v: int, p_camera: np.ndarray, pixels: np.ndarray) -> np.ndarray:
        depth = pixel_values(views.robot_depth[v], pixels, outside=-np.inf)
        return np.isfinite(depth) & (p_camera[:, 2] <= depth + _TOLERANCE_M)

    return look(
        views,
        lambda v: points @ poses[v, :3, :3].T + poses[v, :3, 3],
        lambda v: normals @ poses[v, :3, :3].T,
        visible,
        inside,
    )


def _interior(depth: Float[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"]:
    """Pixels whose neighbours all show the robot, too."""
    from scipy.ndimage import binary_erosion

    return np.asarray(binary_erosion(np.isfinite(depth), np.ones((3, 3)), border_value=1))


def completed_colours(links: Sequence[SeenLink]) -> list[Float[np.ndarray, "f 3"]]:
    """Colours of all faces: seen ones as they are, others as the same material elsewhere, or by the overall light."""
    if not links:
        return []
    model = np.concatenate([link.surface[2] for link in links])
    colours = np.concatenate([link.colours for link in links])
    is_seen = np.concatenate([link.is_seen for link in links])
    result = colours.copy()
    ratio = np.median(colours[is_seen] / np.maximum(model[is_seen], 0.02), axis=0) if is_seen.any() else np.ones(3)
    result[~is_seen] = np.clip(model[~is_seen] * ratio, 0.0, 1.0)
    for material in np.unique(model, axis=0):
        is_material = (model == material).all(axis=1)
        if (is_material & is_seen).any():
            result[is_material & ~is_seen] = np.median(colours[is_material & is_seen], axis=0)
    return np.split(result, np.cumsum([len(link.is_seen) for link in links])[:-1])
