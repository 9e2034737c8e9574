"""What the SplatMesh is measured against: as many Gaussians, bound to nothing, from the same start.

All of them start on the mesh's surface, on every back end. Losses, views and schedule are the SplatMesh's. Gaussians
that grow and are pruned (Kerbl et al. 2023) are in gsplat_default.py.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gemel.artifacts.gaussians import Gaussians
from gemel.services.render.renderer import Renderer, RenderRequest
from gemel.stages.reconstruct.schedule import Turn
from gemel.stages.reconstruct.views import Views

STEPS = {"means": 0.3, "log_scales": 2e-2, "quats": 1e-2, "logits": 2e-2, "sh": 2e-2}
"""Adam's first steps; the means' is relative to the Gaussians' median size. The best of four sets that were tried
on the withheld views themselves, so if anything the comparison favours the free Gaussians."""


class FreeGaussians:
    """Means, rotations, sizes, opacities and colours, all free."""

    def __init__(self, start: Gaussians, *, device: str) -> None:
        import torch

        def leaf(array: np.ndarray) -> Any:
            return torch.tensor(array, dtype=torch.float32, device=device).requires_grad_()

        size = float(np.median(start.scales.max(axis=1)))
        opacities = np.clip(start.opacities, 0.01, 0.99)
        self.tensors = {
            "means": leaf(start.means),
            "log_scales": leaf(np.log(np.maximum(start.scales, 0.2 * size))),
            "quats": leaf(start.rotations),
            "logits": leaf(np.log(opacities / (1.0 - opacities))),
            "sh": leaf(start.sh),
        }
        self.size = size

    def groups(self) -> list[dict[str, Any]]:
        """Adam's groups."""
        scale = {"means": self.size}
        return [{"params": [t], "lr": scale.get(n, 1.0) * STEPS[n], "name": n} for n, t in self.tensors.items()]

    def request(
        self, T_camera_world: Any, intrinsics: Any, width: int, height: int, dilation_px2: float
    ) -> RenderRequest:
        """What to draw for one camera."""
        import torch

        t = self.tensors
        return RenderRequest(
            means=t["means"], quats=t["quats"], scales=t["log_scales"].exp(), opacities=torch.sigmoid(t["logits"]),
            sh=t["sh"], Ts_camera_world=T_camera_world[None], intrinsics=intrinsics[None], width=width, height=height,
            dilation_px2=dilation_px2,
        )  # fmt: skip

    def gaussians(self, dilation_px2: float) -> Gaussians:
        """As they are now."""
        import torch

        with torch.no_grad():
            t = {name: tensor.cpu().numpy() for name, tensor in self.tensors.items()}
        return Gaussians(
            means=t["means"],
            rotations=t["quats"],
            scales=np.exp(t["log_scales"]),
            opacities=1.0 / (1.0 + np.exp(-t["logits"])),
            sh=t["sh"],
            dilation_px2=dilation_px2,
        )


def fit_free(
    free: FreeGaussians,
    views: Views,
    config: Any,
    *,
    renderer: Renderer,
    order: Callable[[list[float]], Iterator[Turn]],
) -> list[float]:
    """Optimise in place, with the order, views and picture losses of the SplatMesh's fit; the loss of every step."""
    import torch

    from gemel.stages.reconstruct.losses import outline_loss, picture_loss

    adam = torch.optim.Adam(free.groups(), eps=1e-15)
    first = [group["lr"] for group in adam.param_groups]
    Ts = torch.tensor(views.Ts_camera_world, dtype=torch.float32, device=free.tensors["means"].device)
    lenses = torch.tensor(views.intrinsics, dtype=torch.float32, device=Ts.device)
    losses: list[float] = []
    for turn in order(losses):
        target = turn.target
        shift = torch.tensor([0.0, 0.0, target.left, target.top], device=Ts.device)
        lens = turn.size * lenses[turn.view] - shift
        images = renderer.render(free.request(Ts[turn.view], lens, target.width, target.height, config.dilation_px2))
        loss = picture_loss(images.colour[0], target, config.weights)
        loss = loss + outline_loss(images.alpha[0], target, config.weights)
        loss.backward()
        losses.append(float(loss.detach()))
        for group, lr in zip(adam.param_groups, first, strict=True):
            group["lr"] = lr * turn.slowness
        adam.step()
        adam.zero_grad(set_to_none=True)
    return losses
