"""Where a task's own frame of an object lies in the reconstructed object.

A task speaks of the yaw of its nominal model; a reconstruction's axes are those of the world during the scan. The
nominal model is laid over the reconstructed surface, turned about the vertical.
"""

import numpy as np
from jaxtyping import Float, Int

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SE3, SO3, sample_surface
from gemel.services.tasks.objects import ObjectModel

_STARTS = 36
_POINTS = 1500


def task_frame(mesh: SplatMesh, model: ObjectModel) -> SE3:
    """`T_object_task`: the nominal frame in the reconstructed object's, upright in both."""
    from scipy.optimize import minimize
    from scipy.spatial import cKDTree

    seen = _plan(mesh.vertices, mesh.faces)
    nominal = _plan(model.vertices, model.faces)
    tree = cKDTree(seen)

    def distance(x: Float[np.ndarray, "3"]) -> float:
        c, s = np.cos(x[2]), np.sin(x[2])
        moved = nominal @ np.array([[c, s], [-s, c]]) + x[:2]
        return float(tree.query(moved)[0].mean() + cKDTree(moved).query(seen)[0].mean())

    middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
    starts = []
    for yaw in np.arange(_STARTS) * 2.0 * np.pi / _STARTS:
        c, s = np.cos(yaw), np.sin(yaw)
        turned = nominal @ np.array([[c, s], [-s, c]])
        starts.append(np.array([*(middle - 0.5 * (turned.min(axis=0) + turned.max(axis=0))), yaw]))
    best = min(starts, key=distance)
    simplex = best + np.concatenate([np.zeros((1, 3)), np.diag([0.005, 0.005, 0.05])])
    x = minimize(distance, best, method="Nelder-Mead", options={"initial_simplex": simplex, "maxiter": 80}).x
    height = float(mesh.vertices[:, 2].min() - model.vertices[:, 2].min())
    return SE3(SO3.exp(np.array([0.0, 0.0, x[2]])), np.array([x[0], x[1], height]))


def _plan(vertices: Float[np.ndarray, "v 3"], faces: Int[np.ndarray, "f 3"]) -> Float[np.ndarray, "n 2"]:
    """Points of a surface from above."""
    return np.asarray(sample_surface(vertices, faces, _POINTS, np.random.default_rng(0))[0][:, :2])
