"""What a sensor makes of light: its gain, its noise, eight bits.

This file's whole point is torch, so it imports torch at module level.
"""

import numpy as np
import torch  # noqa: TID253 - images are on the renderer's device
from jaxtyping import Float, UInt8
from torch import Tensor  # noqa: TID253

from gemel.services.render.torch_threads import one_torch_thread


@one_torch_thread()
def exposed(
    colour: Tensor, gains: Float[np.ndarray, "b 3"], noise: float, rng: np.random.Generator
) -> UInt8[np.ndarray, "b h w 3"]:
    """Photographs of light (b, h, w, 3); `gains` multiply channels, `noise` is the deviation of a pixel, 0 to 1."""
    light = colour * torch.as_tensor(gains, dtype=torch.float32, device=colour.device)[:, None, None]
    light = light.clamp_(0.0, 1.0)
    if noise > 0.0:
        source = torch.Generator(colour.device).manual_seed(int(rng.integers(2**63)))
        light += noise * torch.randn(light.shape, generator=source, device=colour.device)
    return light.mul_(255.0).round_().clamp_(0.0, 255.0).to(torch.uint8).cpu().numpy()
