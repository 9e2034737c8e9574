"""PSNR and SSIM of Gaussians inside the masks of views that they were not fitted to."""

from typing import Any

import numpy as np

from gemel.artifacts.gaussians import Gaussians
from gemel.services.render.renderer import Renderer, RenderRequest
from gemel.stages.reconstruct.views import Views


def score(gaussians: Gaussians, views: Views, *, renderer: Renderer) -> tuple[float, float]:
    """PSNR [dB] and SSIM over the masks' pixels, averaged over the views; outside of the masks all is black."""
    import torch

    from gemel.services.render.similarity import psnr_db, ssim_map

    device = "cuda" if renderer.name == "cuda" else "cpu"
    scores = []
    for i in range(len(views)):
        mask = torch.tensor(views.masks[i] > 0.5, dtype=torch.float32, device=device)
        image = torch.tensor(views.images[i], device=device) * mask[..., None]
        with torch.no_grad():
            drawn = renderer.render(_request(gaussians, views, i, device)).colour[0].clamp(0.0, 1.0) * mask[..., None]
            alike = ssim_map(drawn, image).mean(dim=-1)
        scores.append((psnr_db(drawn, image, mask), float((alike * mask).sum() / mask.sum())))
    psnr, ssim = np.mean(scores, axis=0)
    return float(psnr), float(ssim)


def _request(gaussians: Gaussians, views: Views, i: int, device: str) -> RenderRequest:
    import torch

    def tensor(array: np.ndarray) -> Any:
        return torch.tensor(array, dtype=torch.float32, device=device)

    return RenderRequest(
        means=tensor(gaussians.means), quats=tensor(gaussians.rotations), scales=tensor(gaussians.scales),
        opacities=tensor(gaussians.opacities), sh=tensor(gaussians.sh),
        Ts_camera_world=tensor(views.Ts_camera_world[i][None]), intrinsics=tensor(views.intrinsics[i][None]),
        width=views.width, height=views.height, dilation_px2=gaussians.dilation_px2,
    )  # fmt: skip
