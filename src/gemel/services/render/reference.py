"""The plain reference: dense, in torch, every pixel against every Gaussian, differentiated by autograd.

Written to be obviously right, in float32 or float64; it is what the other back ends are measured against and far too
slow for anything else. Memory grows with pixels times Gaussians; `blend` can be called for a few rows at a time.

EWA projection: Zwicker et al., 2002. Blending and thresholds: Kerbl et al., "3D Gaussian splatting", 2023, in the form
that gsplat 1.5 uses, so that the CUDA back end agrees.
This file's whole point is torch, so it imports torch at module level.
"""

from dataclasses import dataclass

import torch  # noqa: TID253 - the reference is written in torch
from torch import Tensor  # noqa: TID253

from gemel.services.render.checks import check_request, check_values
from gemel.services.render.renderer import Rendering, RenderRequest
from gemel.services.render.spherical_harmonics import C0, C1, C2, C3

ALPHA_MIN = 1.0 / 255.0
ALPHA_MAX = 0.999
TRANSMITTANCE_MIN = 1e-4


class RendererReference:
    """Dense torch renderer; see the module."""

    name = "reference"

    def render(self, request: RenderRequest) -> Rendering:
        """Draw every camera of the request."""
        check_request(request)
        check_values(request)
        images = [self._one_camera(request, camera) for camera in range(len(request.intrinsics))]
        return Rendering(*(torch.stack(channel) for channel in zip(*images, strict=True)))

    def _one_camera(self, request: RenderRequest, camera: int) -> tuple[Tensor, ...]:
        splats = project(request, camera)
        blended, alpha = blend(splats, request.width, 0, request.height)
        depth = blended[..., 3] / alpha.clamp_min(1e-10)
        return blended[..., :3], alpha, depth, blended[..., 4:]


@dataclass(frozen=True)
class Splats:
    """n Gaussians as one camera sees them, nearest first."""

    means: Tensor
    """Pixels, (n, 2)."""
    conics: Tensor
    """Inverse of the blurred 2D covariance: xx, xy, yy [1/px^2], (n, 3)."""
    opacities: Tensor
    """After the anti-aliasing factor; zero for what is not drawn, (n,)."""
    channels: Tensor
    """Red, green, blue, depth and extras, (n, 4 + e)."""


def rotations(quats: Tensor) -> Tensor:
    """Rotation matrices (n, 3, 3) of quaternions wxyz (n, 4) of any length."""
    w, x, y, z = torch.nn.functional.normalize(quats, dim=-1, eps=1e-12).unbind(-1)
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return torch.stack(rows, dim=-1).reshape(-1, 3, 3)


def world_covariances(request: RenderRequest) -> Tensor:
    """Covariances in the world (n, 3, 3)."""
    if request.covariances is not None:
        return 0.5 * (request.covariances + request.covariances.transpose(-1, -2))
    assert request.quats is not None
    assert request.scales is not None
    axes = rotations(request.quats) * request.scales[:, None, :]
    return axes @ axes.transpose(-1, -2)


def basis(d: Tensor, count: int) -> Tensor:
    """Spherical harmonics (n, count) of unit directions (n, 3); see spherical_harmonics.py."""
    x, y, z = d.unbind(-1)
    values = [torch.full_like(x, C0), -C1 * y, C1 * z, -C1 * x]
    quadratic = [x * y, y * z, 2 * z * z - x * x - y * y, x * z, x * x - y * y]
    cubic = [
        y * (3 * x * x - y * y), x * y * z, y * (4 * z * z - x * x - y * y),
        z * (2 * z * z - 3 * x * x - 3 * y * y), x * (4 * z * z - x * x - y * y),
        z * (x * x - y * y), x * (x * x - 3 * y * y),
    ]  # fmt: skip
    values += [c * p for c, p in zip((*C2, *C3), quadratic + cubic, strict=True)]
    return torch.stack(values[:count], dim=-1)


def colours(request: RenderRequest, T_camera_world: Tensor) -> Tensor:
    """Colours (n, 3) of all Gaussians as seen from one camera's centre."""
    centre = -torch.linalg.solve(T_camera_world[:3, :3], T_camera_world[:3, 3])
    directions = torch.nn.functional.normalize(request.means - centre, dim=-1, eps=1e-12)
    values = basis(directions, request.sh.shape[1])
    return (0.5 + (values[:, :, None] * request.sh).sum(1)).clamp_min(0.0)


def projection_jacobian(p_camera: Tensor, intrinsics: Tensor, width: int, height: int) -> Tensor:
    """Derivative (n, 2, 3) of pixel position by camera-frame position, clamped far outside the image."""
    fx, fy, cx, cy = intrinsics
    x, y, z = p_camera.unbind(-1)
    margin_x, margin_y = 0.15 * width / fx, 0.15 * height / fy
    u = torch.minimum(torch.maximum(x / z, -cx / fx - margin_x), (width - cx) / fx + margin_x)
    v = torch.minimum(torch.maximum(y / z, -cy / fy - margin_y), (height - cy) / fy + margin_y)
    zero = torch.zeros_like(z)
    rows = [fx / z, zero, -fx * u / z, zero, fy / z, -fy * v / z]
    return torch.stack(rows, dim=-1).reshape(-1, 2, 3)


def project(request: RenderRequest, camera: int) -> Splats:
    """All Gaussians as one camera sees them, nearest first."""
    T, intrinsics = request.Ts_camera_world[camera], request.intrinsics[camera]
    fx, fy, cx, cy = intrinsics
    p = request.means @ T[:3, :3].T + T[:3, 3]
    is_drawn = p[:, 2] >= request.near_m
    p_safe = torch.where(is_drawn[:, None], p, torch.ones_like(p))
    J = projection_jacobian(p_safe, intrinsics, request.width, request.height) @ T[:3, :3]
    cov = J @ world_covariances(request) @ J.transpose(-1, -2)
    xx, xy, yy = cov[:, 0, 0], cov[:, 0, 1], cov[:, 1, 1]
    wide, high = xx + request.dilation_px2, yy + request.dilation_px2
    before, after = xx * yy - xy * xy, wide * high - xy * xy
    is_drawn = is_drawn & (after > 0)
    after = torch.where(after > 0, after, torch.ones_like(after))
    opacities = torch.where(is_drawn, request.opacities, torch.zeros_like(request.opacities))
    if request.is_antialiased:
        opacities = opacities * (before / after).clamp_min(1e-12).sqrt()
    means = torch.stack([fx * p_safe[:, 0] / p_safe[:, 2] + cx, fy * p_safe[:, 1] / p_safe[:, 2] + cy], dim=-1)
    channels = [colours(request, T), p[:, 2:]] + ([] if request.extras is None else [request.extras])
    order = torch.argsort(p[:, 2], stable=True)
    conics = torch.stack([high, -xy, wide], dim=-1) / after[:, None]
    return Splats(means[order], conics[order], opacities[order], torch.cat(channels, dim=-1)[order])


def blend_weights(splats: Splats, width: int, top: int, bottom: int) -> Tensor:
    """Weight (rows * width, n) of every Gaussian in every pixel of the rows [top, bottom)."""
    like = {"dtype": splats.means.dtype, "device": splats.means.device}
    y, x = torch.meshgrid(torch.arange(top, bottom, **like), torch.arange(width, **like), indexing="ij")
    dx = x.reshape(-1, 1) + 0.5 - splats.means[:, 0]
    dy = y.reshape(-1, 1) + 0.5 - splats.means[:, 1]
    a, b, c = splats.conics.unbind(-1)
    alpha = splats.opacities * torch.exp(-0.5 * (a * dx * dx + c * dy * dy) - b * dx * dy)
    alpha = alpha.clamp_max(ALPHA_MAX)
    alpha = torch.where(alpha >= ALPHA_MIN, alpha, torch.zeros_like(alpha))
    after = torch.cumprod(1.0 - alpha, dim=1)
    before = torch.cat([torch.ones_like(after[:, :1]), after[:, :-1]], dim=1)
    return torch.where(after > TRANSMITTANCE_MIN, alpha * before, torch.zeros_like(alpha))


def blend(splats: Splats, width: int, top: int, bottom: int) -> tuple[Tensor, Tensor]:
    """Blended channels (rows, width, 4 + e) and coverage (rows, width) of the rows [top, bottom)."""
    weights = blend_weights(splats, width, top, bottom)
    blended = (weights @ splats.channels).reshape(bottom - top, width, -1)
    return blended, weights.sum(1).reshape(bottom - top, width)
