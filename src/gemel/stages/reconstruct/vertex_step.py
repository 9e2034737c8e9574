"""Steps of vertices that move the surface as a whole: gradients smoothed by the mesh's own Laplacian.

After "Large steps in inverse rendering of geometry" (Nicolet, Jacobson and Jakob 2021): the gradient is multiplied by
(I + lambda L)^-1, and Adam's second moment is one number for all coordinates. Outlines pull much harder than pictures,
though, so that vertices inside them would hardly move: with `shared` below 1, each vertex has a second moment of its
own, no smaller than that part of the largest. A gradient that reaches only a few
vertices, such as those on an outline, then moves their neighbourhood along, and the mesh stays even without strong
regularisers. The paper smooths twice; once leaves enough of the fine steps to form edges and corners. The matrix is
factorised once; a step costs one solve.

This file's whole point is torch, so it imports torch at module level.
"""

from typing import Any

import numpy as np
import torch  # noqa: TID253 - works on the fit's tensors
from jaxtyping import Int
from torch import Tensor  # noqa: TID253

from gemel.geometry import edges

MOMENTUM = 0.9
MEMORY = 0.99


class VertexStep:
    """Adam on smoothed gradients."""

    def __init__(
        self, vertices: Tensor, faces: Int[np.ndarray, "f 3"], *, smoothing: float, shared: float = 1.0
    ) -> None:
        """`smoothing` is lambda; 0 gives plain steps. With `shared` 1 all vertices have one second moment."""
        from scipy.sparse import identity

        count = len(vertices)
        self.laplacian = laplacian_matrix(count, faces)
        matrix = (identity(count) + smoothing * self.laplacian).tocsc()
        self._device = vertices.device
        self._solve = _solver(matrix, vertices.device)
        self._first = torch.zeros_like(vertices)
        self._own = torch.zeros_like(vertices[:, :1])
        self._largest, self._shared, self._steps = 0.0, shared, 0

    def step(self, vertices: Tensor, gradient: Tensor, size: float) -> None:
        """Move the vertices in place against the gradient; `size` is Adam's step [m]."""
        self._steps += 1
        smooth = self._solve(gradient)
        self._first.mul_(MOMENTUM).add_(smooth, alpha=1.0 - MOMENTUM)
        own = smooth.abs().amax(dim=1, keepdim=True)
        self._own.mul_(MEMORY).add_(own.square(), alpha=1.0 - MEMORY)
        self._largest = MEMORY * self._largest + (1.0 - MEMORY) * float(own.max()) ** 2
        mean, memory = 1.0 - MOMENTUM**self._steps, 1.0 - MEMORY**self._steps
        least = self._shared * (self._largest / memory) ** 0.5 + 1e-20
        spread = (self._own / memory).sqrt().clamp_min(least)
        vertices.sub_(self._first / spread, alpha=size / mean)


def laplacian_matrix(vertex_count: int, faces: Int[np.ndarray, "f 3"]) -> Any:
    """Sparse combinatorial Laplacian: degree on the diagonal, -1 for each neighbour."""
    from scipy.sparse import coo_matrix, diags

    pairs = edges(np.zeros((vertex_count, 3)), faces)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    adjacency = coo_matrix((np.ones(len(both)), both.T), shape=(vertex_count, vertex_count)).tocsr()
    return (diags(np.asarray(adjacency.sum(axis=1)).ravel()) - adjacency).tocsr()


def _solver(matrix: Any, device: Any) -> Any:
    """Function that solves for three columns: sparse factors on the CPU, the inverse itself on a GPU."""
    if device.type != "cpu":
        inverse = torch.linalg.inv(torch.tensor(matrix.toarray(), dtype=torch.float64, device=device)).float()
        return lambda columns: inverse @ columns
    from scipy.sparse.linalg import splu

    factors = splu(matrix)
    return lambda columns: torch.from_numpy(factors.solve(columns.numpy().astype(np.float64))).float()
