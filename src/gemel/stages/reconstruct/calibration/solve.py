"""Robust Gauss-Newton with a Gaussian prior, and how sure its answer is."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from gemel.stages.reconstruct.calibration.observed import Rows


def normal_equations(
    rows: Sequence[Rows], theta: Float[np.ndarray, " p"], prior_sigma: Float[np.ndarray, " p"]
) -> tuple[Float[np.ndarray, "p p"], Float[np.ndarray, " p"]]:
    """Information and gradient of prior and measurements at theta."""
    H, g = np.diag(prior_sigma**-2), theta / prior_sigma**2
    for part in rows:
        weighted = part.weight[:, None] * part.J
        H = H + part.J.T @ weighted
        g = g + weighted.T @ part.residual
    return H, g


def gauss_newton_step(H: Float[np.ndarray, "p p"], g: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
    """The step to the minimum of the quadratic model."""
    return -np.linalg.solve(H, g)


def clustered_covariance(
    H: Float[np.ndarray, "p p"],
    rows: Sequence[Rows],
    cluster_from_view: Int[np.ndarray, " v"],
    prior_sigma: Float[np.ndarray, " p"],
) -> Float[np.ndarray, "p p"]:
    """Covariance of the estimate when residuals within a cluster of views depend on each other in any way.

    The sandwich of Liang and Zeger (1986): H^-1 (sum of outer products of the clusters' gradients) H^-1, with the
    prior's own share as it is.
    """
    count = int(cluster_from_view.max()) + 1
    G = np.zeros((count, len(prior_sigma)))
    for part in rows:
        np.add.at(G, cluster_from_view[part.view], part.weight[:, None] * part.J * part.residual[:, None])
    G = G - G.mean(axis=0)
    meat = np.diag(prior_sigma**-2) + G.T @ G * count / max(count - 1, 1)
    inverse = np.linalg.inv(H)
    return inverse @ meat @ inverse
