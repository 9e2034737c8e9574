"""The CUDA back end: gsplat behind the renderer's protocol.

gsplat 1.5 uses the same projection, thresholds and pixel centres as reference.py, so this file only has to give it its
inputs and to add the gradients that gsplat does not compute. Needs an NVIDIA GPU and the package gsplat; make_renderer
looks for both. This file's whole point is torch, so it imports torch at module level.
"""

from typing import Any

import torch  # noqa: TID253 - adapter between torch tensors and gsplat
from torch import Tensor  # noqa: TID253

from gemel.errors import ConfigError
from gemel.services.render.checks import check_request, check_values
from gemel.services.render.renderer import Rendering, RenderRequest
from gemel.services.render.spherical_harmonics import degree_of


class RendererCuda:
    """Renderer for NVIDIA GPUs; all tensors of a request must be float32 on one CUDA device."""

    name = "cuda"

    def render(self, request: RenderRequest) -> Rendering:
        """Draw every camera of the request in one call of gsplat."""
        check_request(request)
        if request.means.dtype != torch.float32 or request.means.device.type != "cuda":
            raise ConfigError(
                f"The cuda renderer got {request.means.dtype} on {request.means.device}: expected float32 on cuda.",
                remedy="convert the tensors with .float().cuda(), or use make_renderer('cpu')",
            )
        check_values(request)
        if len(request.means) == 0 or len(request.intrinsics) == 0:
            return _blank(request)
        return _rasterise(request)


def _blank(request: RenderRequest) -> Rendering:
    """Empty images that are still connected to the inputs, so that a backward pass finds zeros."""
    shape = (len(request.intrinsics), request.height, request.width)
    zero = request.means.sum() * 0.0 + request.Ts_camera_world.sum() * 0.0 + request.intrinsics.sum() * 0.0
    extras = 0 if request.extras is None else request.extras.shape[1]
    return Rendering(zero.expand(*shape, 3), zero.expand(shape), zero.expand(shape), zero.new_zeros((*shape, extras)))


def _rasterise(request: RenderRequest) -> Rendering:
    from gsplat import rasterization

    Ts = _poses_with_intrinsics(request.Ts_camera_world, request.intrinsics)
    channels, degree = _channels(request, Ts)
    blended, alpha, _ = rasterization(
        means=request.means,
        opacities=request.opacities,
        colors=channels,
        sh_degree=degree,
        viewmats=Ts,
        Ks=_matrices(request.intrinsics.detach()),
        width=request.width,
        height=request.height,
        near_plane=request.near_m,
        eps2d=request.dilation_px2,
        packed=False,
        render_mode="RGB+ED",
        rasterize_mode="antialiased" if request.is_antialiased else "classic",
        **_shapes(request),
    )
    return Rendering(blended[..., :3], alpha[..., 0], blended[..., -1], blended[..., 3:-1])


def _shapes(request: RenderRequest) -> dict[str, Any]:
    """The Gaussians' shapes as gsplat takes them: unit quaternions and scales, or symmetric covariances."""
    if request.covariances is not None:
        symmetric = 0.5 * (request.covariances + request.covariances.transpose(-1, -2))
        return {"quats": None, "scales": None, "covars": symmetric}
    assert request.quats is not None
    is_zero = (request.quats == 0.0).all(dim=-1, keepdim=True)
    identity = request.quats.new_tensor([1.0, 0.0, 0.0, 0.0])
    return {"quats": torch.where(is_zero, identity, request.quats), "scales": request.scales}


def _channels(request: RenderRequest, Ts: Tensor) -> tuple[Tensor, int | None]:
    """What gsplat blends: SH coefficients and their degree, or colours and extras already evaluated per camera."""
    degree = degree_of(int(request.sh.shape[1]))
    if request.extras is None or request.extras.shape[1] == 0:
        return request.sh, degree
    from gsplat import spherical_harmonics

    camera_count = len(Ts)
    centres = torch.inverse(Ts)[:, :3, 3]
    directions = request.means[None] - centres[:, None]
    coefficients = request.sh[None].expand(camera_count, -1, -1, -1)
    colours = (spherical_harmonics(degree, directions, coefficients) + 0.5).clamp_min(0.0)
    return torch.cat([colours, request.extras[None].expand(camera_count, -1, -1)], dim=-1), None


def _poses_with_intrinsics(Ts_camera_world: Tensor, intrinsics: Tensor) -> Tensor:
    """The poses, unchanged in value, through which gradients flow to the intrinsics as well.

    gsplat differentiates poses but not intrinsics. A change of intrinsics acts on the image exactly like the matrix
    A = [[fx/fx0, 0, (cx-cx0)/fx0], [0, fy/fy0, (cy-cy0)/fy0], [0, 0, 1]] in front of the pose, with fixed intrinsics.
    """
    if not intrinsics.requires_grad:
        return Ts_camera_world
    fx, fy, cx, cy = intrinsics.unbind(-1)
    fx0, fy0, cx0, cy0 = intrinsics.detach().unbind(-1)
    zero, one = torch.zeros_like(fx0), torch.ones_like(fx0)
    rows = [
        fx / fx0, zero, (cx - cx0) / fx0, zero,
        zero, fy / fy0, (cy - cy0) / fy0, zero,
        zero, zero, one, zero,
        zero, zero, zero, one,
    ]  # fmt: skip
    return torch.stack(rows, dim=-1).reshape(-1, 4, 4) @ Ts_camera_world


def _matrices(intrinsics: Tensor) -> Tensor:
    """3x3 camera matrices (c, 3, 3) of fx, fy, cx, cy."""
    K = intrinsics.new_zeros((len(intrinsics), 3, 3))
    K[:, 0, 0], K[:, 1, 1], K[:, 0, 2], K[:, 1, 2] = intrinsics.unbind(-1)
    K[:, 2, 2] = 1.0
    return K
