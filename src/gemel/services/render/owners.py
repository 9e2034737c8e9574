"""Whose each pixel is, and how far away that is.

Splats are never quite opaque, so a mean over everything along a ray puts a table that hides a far wall decimetres too
deep. Here every kind of thing blends channels of its own: its weight, and its weight times depth. A pixel belongs to
the kind of most weight and has that kind's own mean depth, so nothing shines through and edges mix nothing.

This file's whole point is torch, so it imports torch at module level.
"""

import torch  # noqa: TID253 - channels that the renderer blends
from torch import Tensor  # noqa: TID253

from gemel.services.render.renderer import Rendering

_SOLID = 0.5
"""Coverage from which on a pixel shows something."""


def owner_channels(kinds: Tensor, count: int, depths_m: Tensor) -> Tensor:
    """Channels (b, n, 2 count) to blend, of Gaussians of kinds 1 to `count` (n,) at depths (b, n) [m]."""
    is_kind = torch.nn.functional.one_hot(kinds - 1, count).float().expand(*depths_m.shape, -1)
    return torch.cat([is_kind, is_kind * depths_m[..., None]], dim=-1)


def owners(images: Rendering) -> tuple[Tensor, Tensor]:
    """Kind, and depth along z of the camera [m], of each pixel, (b, h, w); both zero where little or nothing is."""
    weights, depths = images.extras.chunk(2, dim=-1)
    most, kind = weights.max(dim=-1)
    depth = depths.gather(-1, kind[..., None])[..., 0] / most.clamp(min=1e-6)
    is_solid = images.alpha > _SOLID
    return torch.where(is_solid, kind + 1, 0), torch.where(is_solid, depth, 0.0)
