"""The short fit of a scene's colours and of the cameras' responses, everything drawn together.

Medians of what pixels show are blurred by pixels and again by Gaussians; the fit makes up for the second blur, and for
what shines through between Gaussians. This file's whole point is torch, so it imports torch at module level.
"""

from collections.abc import Callable

import numpy as np
import torch  # noqa: TID253 - the fit is written in torch
from jaxtyping import Float
from torch import Tensor  # noqa: TID253

from gemel.services.render.cloud import Cloud
from gemel.services.render.renderer import Renderer
from gemel.stages.reconstruct.scene.response import Responses
from gemel.stages.reconstruct.scene.scene_views import SceneViews

_COLOUR_STEP = 0.02
_RESPONSE_STEP = 0.003
_LAST_STEP = 0.1
_OUTLIER = 0.15
"""Colour difference beyond which a pixel counts less and less: shadows, highlights."""


def fit_colours(
    cloud: Cloud,
    views: SceneViews,
    is_free: Tensor,
    responses: Responses,
    steps: int,
    *,
    renderer: Renderer,
    rng: np.random.Generator,
    on_progress: Callable[[float], None],
) -> tuple[Tensor, Responses]:
    """Colours (n, 3) of all parts, those changed that are free, and the cameras' responses."""
    device = cloud.colours.device
    colours = cloud.colours.clone().requires_grad_()
    gains, offsets = (
        torch.tensor(table, dtype=torch.float32, device=device).requires_grad_()
        for table in (responses.gains, responses.offsets)
    )
    groups = [{"params": [colours], "lr": _COLOUR_STEP}, {"params": [gains, offsets], "lr": _RESPONSE_STEP}]
    adam = torch.optim.Adam(groups, eps=1e-12)
    first = [group["lr"] for group in groups]
    for step, v in enumerate(order := _order(views, steps, rng)):
        seen = _through(_plain(cloud, views, v, colours, renderer), gains, offsets, int(views.camera[v]))
        difference = (seen - torch.as_tensor(views.images[v], device=device)).abs().mean(dim=-1)
        with torch.no_grad():
            is_scene = torch.as_tensor(~views.taken[v], device=device)
            trust = is_scene / (1.0 + (difference / _OUTLIER).square())
        loss = (trust * difference).sum() / is_scene.sum()
        adam.zero_grad(set_to_none=True)
        loss.backward()
        with torch.no_grad():
            colours.grad.mul_(is_free[:, None])
            for group, lr in zip(adam.param_groups, first, strict=True):
                group["lr"] = lr * _LAST_STEP ** (step / len(order))
            adam.step()
            colours.clamp_(0.0, 1.0)
        if step % 20 == 0:
            on_progress(step / len(order))
    return colours.detach(), Responses(gains.detach().cpu().double().numpy(), offsets.detach().cpu().double().numpy())


def _order(views: SceneViews, steps: int, rng: np.random.Generator) -> list[int]:
    """Views that show the scene, all of them before any comes again."""
    shown = [int(v) for v in views.fitted if not views.taken[v].all()]
    rounds = -(-steps // max(len(shown), 1))
    return [int(v) for _ in range(rounds) for v in rng.permutation(shown)][:steps]


def _plain(cloud: Cloud, views: SceneViews, v: int, colours: Tensor, renderer: Renderer) -> Tensor:
    """View v as the first camera would see it."""
    poses = views.poses
    return cloud.draw(
        poses.Ts_world_link[v], poses.Ts_camera_world[v], poses.intrinsics[v], views.images[v].shape[:2], colours,
        renderer=renderer,
    )  # fmt: skip


def _through(colour: Tensor, gains: Tensor, offsets: Tensor, camera: int) -> Tensor:
    """What a camera makes of colours; the first is the gauge."""
    return colour if camera == 0 else gains[camera] * colour + offsets[camera]


def drawn(
    cloud: Cloud, views: SceneViews, v: int, colours: Tensor, responses: Responses, *, renderer: Renderer
) -> Float[np.ndarray, "h w 3"]:
    """The scene as view v's camera sees it."""
    with torch.no_grad():
        colour = _plain(cloud, views, v, colours, renderer).cpu().numpy()
    return responses.seen_by(int(views.camera[v]), colour)
