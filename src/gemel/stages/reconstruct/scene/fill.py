"""Values for points that no view saw: smooth from their surroundings, with the grain of a place nearby."""

import numpy as np
from jaxtyping import Bool, Float

_NEIGHBOURS = 8
_SMOOTHING = 24
"""Neighbours over which the smooth part of what is known is taken."""
_SHIFTS = 48


def filled(
    points: Float[np.ndarray, "n d"], values: Float[np.ndarray, "n c"], is_known: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, "n c"]:
    """Known values kept; each other one is the mean of its neighbours, which makes a smooth membrane."""
    from scipy.sparse import coo_matrix, diags
    from scipy.sparse.linalg import spsolve
    from scipy.spatial import cKDTree

    if is_known.all() or not is_known.any():
        return values
    near = cKDTree(points).query(points, k=min(_NEIGHBOURS + 1, len(points)))[1][:, 1:]
    rows = np.repeat(np.arange(len(points)), near.shape[1])
    links = coo_matrix((np.ones(len(rows)), (rows, near.ravel())), shape=(len(points),) * 2)
    links = (links + links.T).tocsr()
    # A trace of the overall median keeps islands without any known neighbour solvable.
    laplacian = (diags(np.asarray(links.sum(axis=1)).ravel() + 1e-6) - links).tocsr()
    middle = np.median(values[is_known], axis=0)
    right = -laplacian[~is_known][:, is_known] @ (values[is_known] - middle)
    inner = spsolve(laplacian[~is_known][:, ~is_known].tocsc(), right)
    result = values.copy()
    result[~is_known] = middle + np.asarray(inner).reshape(-1, values.shape[1])
    return result


def with_grain(
    points: Float[np.ndarray, "n 2"],
    values: Float[np.ndarray, "n c"],
    is_known: Bool[np.ndarray, " n"],
    reach_m: float,
    rng: np.random.Generator,
) -> Float[np.ndarray, "n c"]:
    """`values`, already filled, with the grain of known points added where nothing is known.

    The grain is copied with one shift of at most `reach_m`: of several drawn ones, the shift whose source is known
    everywhere and fits best along the border of what is known.
    """
    from scipy.spatial import cKDTree

    if is_known.all() or is_known.sum() < _SMOOTHING:
        return values
    known_tree = cKDTree(points[is_known])
    around = known_tree.query(points[is_known], k=_SMOOTHING)[1]
    grain = values[is_known] - values[is_known][around].mean(axis=1)
    spacing_m = float(np.median(known_tree.query(points[is_known], k=2)[0][:, 1]))
    border = known_tree.query_ball_point(points[~is_known], 3.0 * spacing_m)
    rim = np.unique(np.concatenate([np.asarray(b, dtype=np.int64) for b in border]))
    best, best_error = None, np.inf
    for shift in rng.uniform(-reach_m, reach_m, (_SHIFTS, 2)):
        distance, source = known_tree.query(points[~is_known] + shift)
        at_rim = known_tree.query(points[is_known][rim] + shift)[1]
        missing = float(np.mean(distance > 1.5 * spacing_m))
        error = float(np.mean((grain[at_rim] - grain[rim]) ** 2)) if len(rim) else 0.0
        error = error / max(float(grain.var()), 1e-12) + 10.0 * missing
        if error < best_error:
            best, best_error = source, error
    assert best is not None
    result = values.copy()
    result[~is_known] = np.clip(values[~is_known] + grain[best], 0.0, 1.0)
    return result
