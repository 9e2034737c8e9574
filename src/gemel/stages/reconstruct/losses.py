"""What the fit minimises, each part without a unit, so that one set of weights serves objects of any size.

Pictures and outlines are means over the object's pixels; the surface's parts are measured in its own mean edge.
This file's whole point is torch, so it imports torch at module level.
"""

from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - differentiable
from jaxtyping import Float, Int
from torch import Tensor  # noqa: TID253

from gemel.geometry import edges
from gemel.services.render.similarity import ssim_map
from gemel.stages.reconstruct.targets import Target


@dataclass(frozen=True)
class LossWeights:
    """Weights of the parts."""

    photo: float = 1.0
    """Mean absolute difference of colours over the object."""
    structure: float = 0.2
    """1 - SSIM over the object."""
    outline: float = 2.0
    """Mean squared difference between coverage and mask, weighted by the distance from the outline."""
    laplacian: float = 0.03
    """Squared distance of vertices from the middle of their neighbours, in mean edges."""
    edge: float = 0.01
    """Squared deviation of edges from their mean length, relative to it."""
    normal: float = 0.04
    """Mean difference of neighbouring normals: flat faces and sharp edges cost less than waves."""
    light: float = 0.02
    """Squared light of a view (light.py): of two explanations, the evenly lit one is taken."""
    depth: float = 0.02
    """Mean absolute difference of depths over the object, in mean edges, where depth was logged."""
    depth_outlier: float = 5.0
    """Depth difference beyond which a pixel counts less and less [mean edges]: flying pixels, reflections."""
    outlier: float = 0.15
    """Colour difference beyond which a pixel counts less and less: highlights, shadows, wrong masks [0 to 1]."""


def picture_loss(colour: Tensor, target: Target, weights: LossWeights) -> Tensor:
    """Difference of colours over the pixels that surely show the object."""
    difference = (colour - target.image).abs().mean(dim=-1)
    with torch.no_grad():
        trust = target.photo_weight / (1.0 + (difference / weights.outlier).square())
    loss = weights.photo * (trust * difference).sum()
    if weights.structure > 0.0:
        # Of grey values: structure is much the same in all channels, and three times the work.
        alike = ssim_map(colour.mean(dim=-1, keepdim=True), target.image.mean(dim=-1, keepdim=True))[..., 0]
        loss = loss + weights.structure * (target.photo_weight * (1.0 - alike)).sum()
    return loss


def outline_loss(coverage: Tensor, target: Target, weights: LossWeights) -> Tensor:
    """Difference between coverage and mask."""
    return weights.outline * (target.outline_weight * (coverage - target.mask).square()).sum()


def depth_loss(depth: Tensor, target: Target, mean_edge: float, weights: LossWeights) -> Tensor:
    """Difference between drawn and logged depth (h, w) [m]; `target` has to have a depth."""
    assert target.depth is not None
    assert target.depth_weight is not None
    difference = (depth - target.depth).abs() / mean_edge
    with torch.no_grad():
        trust = target.depth_weight / (1.0 + (difference / weights.depth_outlier).square())
    return weights.depth * (trust * difference).sum()


class SurfaceLoss:
    """How uneven a mesh is, for one connectivity."""

    def __init__(self, vertices: Float[np.ndarray, "v 3"], faces: Int[np.ndarray, "f 3"], device: str) -> None:
        pairs = edges(vertices, faces)
        self.mean_edge = float(np.linalg.norm(vertices[pairs[:, 0]] - vertices[pairs[:, 1]], axis=1).mean())
        self._faces = torch.as_tensor(faces, device=device)
        self._ends = torch.as_tensor(pairs, device=device)
        self._sides = torch.as_tensor(_faces_of_edges(pairs, faces), device=device)
        degree = np.bincount(pairs.ravel(), minlength=len(vertices))
        self._degree = torch.as_tensor(degree, dtype=torch.float32, device=device)[:, None]

    def __call__(self, vertices: Tensor, weights: LossWeights) -> Tensor:
        """Weighted sum of the surface's parts."""
        unit = vertices / self.mean_edge
        first, second = unit.index_select(0, self._ends[:, 0]), unit.index_select(0, self._ends[:, 1])
        along = second - first
        pulls = torch.zeros_like(unit).index_add(0, self._ends[:, 0], along).index_add(0, self._ends[:, 1], -along)
        laplacian = (pulls / self._degree).square().sum(dim=1).mean()
        edge = (along.norm(dim=1) - 1.0).square().mean()
        corners = unit.index_select(0, self._faces.reshape(-1)).reshape(-1, 3, 3)
        across = torch.linalg.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals = across / (across.norm(dim=1, keepdim=True) + 1e-9)
        turn = normals.index_select(0, self._sides[:, 0]) - normals.index_select(0, self._sides[:, 1])
        bend = (turn.square().sum(dim=1) + 1e-4).sqrt().mean()
        return weights.laplacian * laplacian + weights.edge * edge + weights.normal * bend


def _faces_of_edges(pairs: Int[np.ndarray, "e 2"], faces: Int[np.ndarray, "f 3"]) -> Int[np.ndarray, "e 2"]:
    """The two faces beside each edge of a closed mesh."""
    sides = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    size = int(faces.max()) + 1
    order = np.argsort(sides[:, 0] * size + sides[:, 1], kind="stable")
    return (order // 3).reshape(-1, 2)
