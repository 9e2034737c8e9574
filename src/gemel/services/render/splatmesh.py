"""SplatMesh -> what the renderer draws: flat Gaussians that sit on faces and follow them, differentiable.

A face with corners a, b, c is an affine image of a reference triangle; its own second moment is that of the reference
triangle under the same map. With e1 = b - a, e2 = c - a the moment of a uniform triangle is B Q Bᵀ, B = [e1 e2],
Q = [[1/18, -1/36], [-1/36, 1/18]]; the columns of B chol(Q) are the two axes that a Gaussian's in-plane scales stretch.
So Gaussians are rotated, stretched and sheared with their face, and no frame has to be chosen.

After Splatting Physical Scenes (arXiv 2506.04120), whose Gaussians turn with the face; the affine axes are ours.
This file's whole point is torch, so it imports torch at module level.
"""

# mypy: disallow-subclassing-any=false

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch  # noqa: TID253 - differentiable placement is written in torch
from jaxtyping import Float, Int
from torch import Tensor  # noqa: TID253

from gemel.services.render.bound_gaussians import AXIS_1, AXIS_2
from gemel.services.render.bound_gaussians import gaussians_of as gaussians_of


@dataclass(frozen=True)
class Binding:
    """Which face each of g Gaussians sits on, and where; constant while a fit runs."""

    faces: Tensor
    """(f, 3) vertex indices."""
    face_from_gaussian: Tensor
    """(g,)"""
    barycentric: Tensor
    """(g, 3)"""
    normal_scale_m: float
    """Standard deviation along the face's normal [m]; added in all directions, in the plane it is negligible."""


def bind(
    faces: Int[np.ndarray, "face 3"],
    *,
    per_edge: "int | Int[np.ndarray, ' face']",
    normal_scale_m: float,
    device: str = "cpu",
) -> Binding:
    """`per_edge`² Gaussians on a face, in the middles of equal small triangles; faces may differ in their number."""
    face_from_gaussian, barycentric = spread(np.broadcast_to(np.asarray(per_edge), len(faces)))
    return Binding(
        faces=torch.as_tensor(faces, dtype=torch.int64, device=device),
        face_from_gaussian=torch.as_tensor(face_from_gaussian, device=device),
        barycentric=torch.as_tensor(barycentric, dtype=torch.float32, device=device),
        normal_scale_m=normal_scale_m,
    )


def spread(per_edge: Int[np.ndarray, " face"]) -> tuple[Int[np.ndarray, " gaussian"], Float[np.ndarray, "gaussian 3"]]:
    """The face of each Gaussian, in rising order, and its barycentric weights, for `per_edge`² of them on each face."""
    face_from_gaussian = np.repeat(np.arange(len(per_edge)), per_edge**2)
    barycentric = np.empty((len(face_from_gaussian), 3))
    for number in np.unique(per_edge):
        at = per_edge[face_from_gaussian] == number
        barycentric[at] = np.tile(barycentric_grid(int(number)), (int(np.sum(per_edge == number)), 1))
    return face_from_gaussian, barycentric


def barycentric_grid(per_edge: int) -> Float[np.ndarray, "n 3"]:
    """Centroids of the n = per_edge² equal triangles that a triangle is cut into by lines along its edges."""
    upright = [(i, j) for i in range(per_edge) for j in range(per_edge - i)]
    turned = [(i, j) for i in range(per_edge - 1) for j in range(per_edge - 1 - i)]
    corners = [(i + 1 / 3, j + 1 / 3) for i, j in upright] + [(i + 2 / 3, j + 2 / 3) for i, j in turned]
    uv = np.array(corners) / per_edge
    return np.concatenate([1.0 - uv.sum(axis=1, keepdims=True), uv], axis=1)


def place(
    vertices: Tensor, binding: Binding, in_plane_scale: Tensor, uv: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Means (g, 3) [m] and covariances (g, 3, 3) [m²] of Gaussians on the faces of `vertices` (v, 3).

    `in_plane_scale` (g, 2) is relative to the face's second moment: 1/n for n² Gaussians that tile it; a third column
    is the part of the second axis in the first one, which lets a Gaussian turn in its plane. `uv` (g, 2), the last two
    barycentric weights, takes the place of the binding's own where given. On the CPU in float32 a compiled kernel does
    the same in a fifth of the time.
    """
    if vertices.device.type == "cpu" and vertices.dtype == torch.float32:
        given = binding.barycentric[:, 1:].float() if uv is None else uv
        means, covariances = _PlaceCpu.apply(vertices, _with_turn(in_plane_scale), given, binding)
        return means, covariances
    return place_plainly(vertices, binding, in_plane_scale, uv)


def place_plainly(
    vertices: Tensor, binding: Binding, in_plane_scale: Tensor, uv: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """`place` in plain torch, on any device and for any float type."""
    uv = binding.barycentric[:, 1:] if uv is None else uv
    corners = vertices.index_select(0, binding.faces.reshape(-1)).reshape(-1, 9)
    a, b, c = corners.index_select(0, binding.face_from_gaussian).reshape(-1, 3, 3).unbind(1)
    e1, e2 = b - a, c - a
    means = a + uv[:, :1] * e1 + uv[:, 1:] * e2
    s1, s2, turned = _with_turn(in_plane_scale).split(1, dim=1)
    u1 = s1 * (AXIS_1[0] * e1 + AXIS_1[1] * e2) + (AXIS_2 * turned) * e2
    u2 = (AXIS_2 * s2) * e2
    thickness = binding.normal_scale_m**2 * torch.eye(3, device=vertices.device, dtype=vertices.dtype)
    return means, u1[:, :, None] * u1[:, None, :] + u2[:, :, None] * u2[:, None, :] + thickness


def _with_turn(in_plane_scale: Tensor) -> Tensor:
    """(g, 3) from (g, 2) or (g, 3)."""
    return torch.nn.functional.pad(in_plane_scale, (0, 3 - in_plane_scale.shape[1]))


class _PlaceCpu(torch.autograd.Function):
    """`place` by compiled kernels."""

    @staticmethod
    def forward(
        ctx: Any, vertices: Tensor, in_plane_scale: Tensor, uv: Tensor, binding: Binding
    ) -> tuple[Tensor, Tensor]:
        from gemel.services.render.cpu_splatmesh import place_kernel

        bound = (binding.faces.numpy(), binding.face_from_gaussian.numpy())
        v, s, p = (tensor.detach().contiguous().numpy() for tensor in (vertices, in_plane_scale, uv))
        ctx.constants = (*map(np.float32, (*AXIS_1, AXIS_2, binding.normal_scale_m**2)),)
        count = len(in_plane_scale)
        means, covariances = torch.empty((count, 3)), torch.empty((count, 3, 3))
        ctx.inputs = (v, s, p, bound)
        place_kernel(v, s, p, bound, ctx.constants, (means.numpy(), covariances.numpy()))
        ctx.save_for_backward(vertices, in_plane_scale, uv)
        return means, covariances

    @staticmethod
    def backward(ctx: Any, to_means: Tensor, to_covariances: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        from gemel.services.render.cpu_splatmesh import place_gradient_kernel

        vertices, scale, uv = ctx.saved_tensors
        results = torch.zeros_like(vertices), torch.empty_like(scale), torch.empty_like(uv)
        slopes = (to_means.contiguous().numpy(), to_covariances.contiguous().numpy())
        v, s, p, bound = ctx.inputs
        place_gradient_kernel(v, s, p, bound, ctx.constants, slopes, tuple(result.numpy() for result in results))
        return (*results, None)
