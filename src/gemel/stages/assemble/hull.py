"""Convex hulls."""

import numpy as np
from jaxtyping import Bool, Float, Int

Points = Float[np.ndarray, "_ 3"]
_ROUNDING_M = 1e-9


def hull_corners(points: Points) -> Float[np.ndarray, "_ 3"]:
    """Those of the points that span their convex hull."""
    from scipy.spatial import ConvexHull

    return points[np.sort(ConvexHull(points).vertices)]


def fewer_corners(corners: Points, most: int) -> Float[np.ndarray, "_ 3"]:
    """At most about `most` of the corners of a hull: the farthest outside what is spanned already comes next."""
    from scipy.spatial import ConvexHull

    signs = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3)).reshape(3, -1).T
    chosen = np.unique(np.argmax(corners @ signs[np.any(signs != 0.0, axis=1)].T, axis=0)).tolist()
    while len(chosen) < min(most, len(corners)):
        equations = ConvexHull(corners[chosen]).equations
        outside = (corners @ equations[:, :3].T + equations[:, 3]).max(axis=1)
        if outside.max() < _ROUNDING_M:
            break
        chosen.append(int(np.argmax(outside)))
    return corners[np.sort(chosen)]


def hull_mesh(points: Points) -> tuple[Float[np.ndarray, "_ 3"], Int[np.ndarray, "_ 3"]]:
    """The convex hull as a closed mesh whose faces look outwards."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    is_inward = np.sum(normals * hull.equations[:, :3], axis=1) < 0.0
    faces = np.where(is_inward[:, None], hull.simplices[:, ::-1], hull.simplices).astype(np.int64)
    used, renumbered = np.unique(faces, return_inverse=True)
    return points[used], renumbered.reshape(-1, 3)


def is_inside(points: Float[np.ndarray, "n 3"], corners: Points) -> Bool[np.ndarray, " n"]:
    """Which points lie inside the hull of the corners."""
    from scipy.spatial import ConvexHull

    equations = ConvexHull(corners).equations
    return np.asarray((points @ equations[:, :3].T + equations[:, 3] < 0.0).all(axis=1))
