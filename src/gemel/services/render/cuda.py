"""The CUDA back end: gsplat behind the renderer's protocol.

gsplat 1.5 uses the same projection, thresholds and pixel centres as reference.py, so this file only has to give it its
inputs and to add the gradients that gsplat does not compute. Needs an NVIDIA GPU and the package gsplat; make_renderer
looks for both. This file's whole point is torch, so it imports torch at module level.
"""

# mypy: disallow-subclassing-any=false

from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch  # noqa: TID253 - adapter between torch tensors and gsplat
from torch import Tensor  # noqa: TID253

from gemel.errors import ConfigError
from gemel.services.render.checks import NAMES, check_cameras, check_form, check_values
from gemel.services.render.renderer import Rendering, RenderRequest
from gemel.services.render.scene_batch import SceneBatch
from gemel.services.render.spherical_harmonics import degree_of

_MODES = {False: "classic", True: "antialiased"}
"""What gsplat calls drawing without and with opacities that make up for the low-pass filter."""


class RendererCuda:
    """Renderer for NVIDIA GPUs; all tensors of a request must be float32 on one CUDA device."""

    name = "cuda"

    def render(self, request: RenderRequest) -> Rendering:
        """Draw every camera of the request in one call of gsplat."""
        check_form(request)
        if request.means.dtype != torch.float32 or request.means.device.type != "cuda":
            raise ConfigError(
                f"The cuda renderer got {request.means.dtype} on {request.means.device}: expected float32 on cuda.",
                remedy="convert the tensors with .float().cuda(), or use make_renderer('cpu')",
            )
        has_zero_quats = _check_on_device(request)
        if len(request.means) == 0 or len(request.intrinsics) == 0:
            return _blank(request)
        return _rasterise(replace(request, quats=_with_identities(request.quats)) if has_zero_quats else request)


def _check_on_device(request: RenderRequest) -> bool:
    """Check cameras and values with one copy to the host; returns whether a quaternion has no direction.

    Tried instead: copying the norms while gsplat works (pinned memory and an event) saves the wait but costs more
    launches than it saves; together with separate reads of cameras and values it was 5 % of a frame slower.
    """
    given = [t.detach() for name in NAMES if (t := getattr(request, name)) is not None and t.numel()]
    Ts, lenses = request.Ts_camera_world.detach(), request.intrinsics.detach()
    parts = [Ts.reshape(-1), lenses.reshape(-1)]
    if given:
        # One fused kernel sums the absolute values of all tensors: a sum is finite if all that went in is.
        parts.append(torch.stack(torch._foreach_norm(given, 1)))
    if request.quats is not None and request.quats.numel():
        parts.append(torch.linalg.vector_norm(request.quats.detach(), dim=-1).min().reshape(1))
    values, count = torch.cat(parts).tolist(), len(lenses)
    poses = [[values[16 * c + 4 * r : 16 * c + 4 * r + 4] for r in range(4)] for c in range(count)]
    check_cameras(poses, [values[16 * count + 4 * c : 16 * count + 4 * c + 4] for c in range(count)])
    check_values(request, values[20 * count :])
    return request.quats is not None and values[-1] == 0.0


def _blank(request: RenderRequest) -> Rendering:
    """Empty images that are still connected to the inputs, so that a backward pass finds zeros."""
    shape = (len(request.intrinsics), request.height, request.width)
    zero = request.means.sum() * 0.0 + request.Ts_camera_world.sum() * 0.0 + request.intrinsics.sum() * 0.0
    extras = 0 if request.extras is None else request.extras.shape[1]
    return Rendering(zero.expand(*shape, 3), zero.expand(shape), zero.expand(shape), zero.new_zeros((*shape, extras)))


def _rasterise(request: RenderRequest) -> Rendering:
    from gsplat import rasterization

    Ts = _CarryIntrinsics.apply(request.Ts_camera_world, request.intrinsics)
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
        rasterize_mode=_MODES[request.is_antialiased],
        **_shapes(request),
    )
    return Rendering(blended[..., :3], alpha[..., 0], blended[..., -1], blended[..., 3:-1])


def rasterise_scenes(batch: SceneBatch) -> Rendering:
    """Draw all scenes of a batch in one call of gsplat, with the defaults of a request as `SceneBatch.request` has."""
    from gsplat import rasterization

    scenes, colours = len(batch.means), batch.colours.clamp_min(0.0)
    if batch.extras is not None:
        colours = torch.cat([colours, batch.extras], dim=-1)
    blended, alpha, _ = rasterization(
        means=batch.means,
        quats=None,
        scales=None,
        covars=batch.covariances,
        opacities=batch.opacities,
        colors=colours,
        viewmats=batch.Ts_camera_world[:, None],
        Ks=_matrices(batch.intrinsics[None]).expand(scenes, 1, 3, 3),
        width=batch.width,
        height=batch.height,
        near_plane=RenderRequest.near_m,
        eps2d=batch.dilation_px2,
        packed=False,
        render_mode="RGB+ED",
        rasterize_mode=_MODES[RenderRequest.is_antialiased],
    )
    blended, alpha = blended[:, 0], alpha[:, 0]
    return Rendering(blended[..., :3], alpha[..., 0], blended[..., -1], blended[..., 3:-1])


def _shapes(request: RenderRequest) -> dict[str, Any]:
    """The Gaussians' shapes as gsplat takes them: quaternions and scales, or symmetric covariances."""
    if request.covariances is None:
        return {"quats": request.quats, "scales": request.scales}
    symmetric = 0.5 * (request.covariances + request.covariances.transpose(-1, -2))
    return {"quats": None, "scales": None, "covars": symmetric}


def _with_identities(quats: Any) -> Any:
    """Zero quaternions replaced by the identity."""
    is_zero = (quats == 0.0).all(dim=-1, keepdim=True)
    return torch.where(is_zero, quats.new_tensor([1.0, 0.0, 0.0, 0.0]), quats)


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


class _CarryIntrinsics(torch.autograd.Function):
    """The poses, unchanged, through which gradients flow to the intrinsics as well.

    gsplat differentiates poses but not intrinsics. A change of intrinsics acts on the image exactly like the matrix
    A = [[fx/fx0, 0, (cx-cx0)/fx0], [0, fy/fy0, (cy-cy0)/fy0], [0, 0, 1]] in front of the pose, with fixed intrinsics;
    at A = 1 the gradient of A is that of the pose times the pose's transpose.
    """

    @staticmethod
    def forward(ctx: Any, Ts_camera_world: Tensor, intrinsics: Tensor) -> Tensor:
        ctx.save_for_backward(Ts_camera_world, intrinsics)
        return Ts_camera_world.view_as(Ts_camera_world)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        Ts, intrinsics = ctx.saved_tensors
        # gsplat inverts the whole 4x4 matrix, so its gradient has a last row; the last row of a pose is no input.
        gradient = gradient * _upper_rows(str(gradient.device))
        if not ctx.needs_input_grad[1]:
            return gradient, None
        to_A = gradient[:, :2, :] @ Ts.transpose(-1, -2)  # (c, 2, 4)
        focal = torch.stack([to_A[:, 0, 0], to_A[:, 1, 1], to_A[:, 0, 2], to_A[:, 1, 2]], dim=-1)
        return gradient, focal / intrinsics[:, :2].repeat(1, 2)


def _matrices(intrinsics: Tensor) -> Tensor:
    """3x3 camera matrices (c, 3, 3) of fx, fy, cx, cy: picked from a padded row, instead of six small copies."""
    zero_one, order = _matrix_constants(str(intrinsics.device))
    padded = torch.cat([intrinsics, zero_one.expand(len(intrinsics), 2)], dim=1)
    return padded.index_select(1, order).reshape(-1, 3, 3)


@lru_cache
def _upper_rows(device: str) -> Tensor:
    """One for the first three rows of a 4x4 matrix, zero for the last (1, 4, 1)."""
    return torch.tensor([1.0, 1.0, 1.0, 0.0], device=device).reshape(1, 4, 1)


@lru_cache
def _matrix_constants(device: str) -> tuple[Tensor, Tensor]:
    """Zero and one (1, 2), and which of fx, fy, cx, cy, 0, 1 stands at each of the nine places."""
    return torch.tensor([[0.0, 1.0]], device=device), torch.tensor([0, 4, 2, 4, 1, 3, 4, 4, 5], device=device)
