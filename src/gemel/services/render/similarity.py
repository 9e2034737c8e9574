"""How alike two images are: SSIM (Wang et al. 2004) with its Gaussian window of 11 x 11 pixels, and PSNR; in torch.

The window is separable, so blurring is two products with banded matrices; at the border the window is cut off and its
weights made to sum to one again. This file's whole point is torch, so it imports torch at module level.
"""

import math
from functools import lru_cache

import torch  # noqa: TID253 - differentiable, used as a loss
from torch import Tensor  # noqa: TID253

SIGMA_PX = 1.5
REACH_PX = 5
C1 = 0.01**2
C2 = 0.03**2
"""Constants of the paper for values from 0 to 1."""


def ssim_map(first: Tensor, second: Tensor) -> Tensor:
    """Structural similarity around each pixel, (h, w, c) from two images (h, w, c) with values from 0 to 1."""
    height, width, _ = first.shape
    a, b = first.permute(2, 0, 1), second.permute(2, 0, 1)
    maps = torch.cat([a, b, a * a, b * b, a * b])  # (5 c, h, w)
    down, across = _window(height, str(first.device)), _window(width, str(first.device))
    mean_a, mean_b, aa, bb, ab = (down @ maps @ across.T).chunk(5)
    square_a, square_b, both = mean_a * mean_a, mean_b * mean_b, mean_a * mean_b
    alike = (2.0 * both + C1) * (2.0 * (ab - both) + C2)
    return (alike / ((square_a + square_b + C1) * (aa - square_a + bb - square_b + C2))).permute(1, 2, 0)


def psnr_db(first: Tensor, second: Tensor, weights: Tensor) -> float:
    """Peak signal-to-noise ratio [dB] of two images (h, w, c) over pixels with weights (h, w)."""
    squared = ((first - second).square().mean(dim=-1) * weights).sum() / weights.sum()
    return -10.0 * math.log10(max(float(squared), 1e-12))


@lru_cache(maxsize=256)
def _window(size: int, device: str) -> Tensor:
    """(size, size) matrix that blurs a column of that many pixels."""
    at = torch.arange(size, dtype=torch.float32)
    apart = at[:, None] - at[None, :]
    weights = torch.exp(-0.5 * (apart / SIGMA_PX) ** 2) * (apart.abs() <= REACH_PX)
    return (weights / weights.sum(dim=1, keepdim=True)).to(device)
