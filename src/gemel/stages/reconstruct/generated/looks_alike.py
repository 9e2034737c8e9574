"""Whether a model at a pose looks right: its own colours against the images, or the images against each other.

Outlines cannot tell a cup from the same cup upside down; colours can.
"""

import numpy as np
from jaxtyping import Float

from gemel.geometry import vertex_normals
from gemel.stages.reconstruct.remesh import Mesh
from gemel.stages.reconstruct.seen import look_at_points
from gemel.stages.reconstruct.views import Views

_MOST_POINTS = 3000


def colour_disagreement(
    mesh: Mesh, colours: "Float[np.ndarray, 'v 3'] | None", views: Views, rng: np.random.Generator
) -> float:
    """Mean difference, 0 to 1, over vertices of a placed mesh.

    Of the images from the model's colours, tint and light of the whole left out; without colours, of each image from
    the median of all that see the vertex.
    """
    vertices, faces = mesh
    normals = vertex_normals(vertices, faces)
    chosen = np.arange(len(vertices))
    if len(vertices) > _MOST_POINTS:
        chosen = rng.choice(len(vertices), _MOST_POINTS, replace=False)
    sight = look_at_points(views, views.Ts_camera_world, vertices, faces, vertices[chosen], normals[chosen])
    is_seen = sight.is_seen & (sight.is_seen.sum(axis=0) >= min(2, len(views)))
    if not is_seen.any():
        return 1.0
    expected = sight.median_colours()
    if colours is not None:
        found = is_seen.any(axis=0)
        expected = colours[chosen] - colours[chosen][found].mean(axis=0) + expected[found].mean(axis=0)
    return float(np.abs(sight.colours - expected)[is_seen].mean())
