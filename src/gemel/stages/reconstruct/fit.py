"""The joint optimisation: a SplatMesh, the colour response of its cameras, and the rig, against masked pictures.

Coarse to fine, one view per step. Vertices take smoothed steps (vertex_step.py); colours, opacities, sizes, colour
responses and the rig's unknowns take Adam's. This file's whole point is torch, so it imports torch at module level.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch  # noqa: TID253 - the optimisation
from jaxtyping import Float, Int
from torch import Tensor  # noqa: TID253

from gemel.services.render.renderer import Renderer, RenderRequest
from gemel.services.render.splatmesh import Binding, bind, place
from gemel.stages.reconstruct.losses import LossWeights, SurfaceLoss, outline_loss, picture_loss
from gemel.stages.reconstruct.rig import Rig
from gemel.stages.reconstruct.targets import Target, make_targets
from gemel.stages.reconstruct.vertex_step import VertexStep
from gemel.stages.reconstruct.views import Views

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class FitConfig:
    """Length and steps of the optimisation; lengths are relative to the mesh's mean edge."""

    steps: tuple[int, ...] = (200, 400, 800)
    """Steps at a quarter, half and full size of the images; the last is full size."""
    per_edge: int = 2
    """The square of this is the number of Gaussians per face."""
    sh_count: int = 1
    """Colour coefficients per channel: 1 is the same from all sides."""
    smoothing: float = 15.0
    """Lambda of the smoothed vertex steps."""
    vertex_step: float = 0.1
    """Largest step of a vertex, in mean edges, at the start; falls to a tenth."""
    colour_step: float = 0.02
    opacity_step: float = 0.02
    scale_step: float = 0.005
    response_step: float = 0.002
    first_scale: float = 0.8
    """Size of the Gaussians relative to their part of the face, at the start."""
    dilation_px2: float = 0.02
    """Low-pass filter [px²]; small, or the surface shrinks behind its soft edge."""
    normal_scale: float = 0.02
    """Thickness of the Gaussians, in mean edges."""
    rig_start: float = 0.15
    """Part of the steps after which cameras begin to move."""
    prior_weight: float = 8e-5
    """Weight of the rig's prior against a mean colour difference: one over (independent pixels of a view / their
    noise)."""
    weights: LossWeights = field(default_factory=LossWeights)


class SplatState:
    """What is fitted for one mesh: tensors that the optimiser changes in place."""

    def __init__(
        self,
        vertices: Float[np.ndarray, "v 3"],
        faces: Int[np.ndarray, "f 3"],
        colours: Float[np.ndarray, "gaussian 3"],
        config: FitConfig,
        *,
        camera_count: int,
        device: str,
    ) -> None:
        from gemel.services.render.spherical_harmonics import C0

        self.surface = SurfaceLoss(vertices, faces, device)
        thickness = config.normal_scale * self.surface.mean_edge
        self.binding: Binding = bind(faces, per_edge=config.per_edge, normal_scale_m=thickness, device=device)
        count = len(self.binding.barycentric)
        self.vertices = torch.tensor(vertices, dtype=torch.float32, device=device, requires_grad=True)
        sh = torch.zeros((count, config.sh_count, 3), device=device)
        sh[:, 0] = (torch.as_tensor(colours, dtype=torch.float32, device=device) - 0.5) / C0
        self.sh = sh.requires_grad_()
        self.opacity_logits = torch.full((count,), 3.0, device=device, requires_grad=True)
        first = float(np.log(config.first_scale / config.per_edge))
        self.log_scale = torch.full((count, 2), first, device=device, requires_grad=True)
        self.gains = torch.zeros((camera_count, 3), device=device, requires_grad=True)
        self.offsets = torch.zeros((camera_count, 3), device=device, requires_grad=True)

    def groups(self, config: FitConfig) -> list[dict[str, Any]]:
        """Adam's groups, without vertices and rig."""
        return [
            {"params": [self.sh], "lr": config.colour_step},
            {"params": [self.opacity_logits], "lr": config.opacity_step},
            {"params": [self.log_scale], "lr": config.scale_step},
            {"params": [self.gains, self.offsets], "lr": config.response_step},
        ]


def draw(
    state: SplatState,
    target: Target,
    T_camera_world: Tensor,
    intrinsics: Tensor,
    *,
    renderer: Renderer,
    dilation_px2: float,
) -> tuple[Tensor, Tensor]:
    """Colours (h, w, 3), through the camera's response, and coverage (h, w) of what a target shows of a view."""
    means, covariances = place(state.vertices, state.binding, state.log_scale.exp())
    shift = torch.tensor([0.0, 0.0, target.left, target.top], device=intrinsics.device)
    images = renderer.render(
        RenderRequest(
            means=means,
            covariances=covariances,
            opacities=torch.sigmoid(state.opacity_logits),
            sh=state.sh,
            Ts_camera_world=T_camera_world[None],
            intrinsics=(intrinsics - shift)[None],
            width=target.width,
            height=target.height,
            dilation_px2=dilation_px2,
        )
    )
    colour, coverage = images.colour[0], images.alpha[0]
    if target.camera > 0:  # the first camera is the gauge
        colour = (1.0 + state.gains[target.camera]) * colour + state.offsets[target.camera] * coverage[..., None]
    return colour, coverage


def fit_splats(
    state: SplatState,
    views: Views,
    rig: Rig,
    config: FitConfig,
    *,
    renderer: Renderer,
    clamp: Callable[[Tensor], None],
    rng: np.random.Generator,
    on_progress: OnProgress | None = None,
) -> list[float]:
    """Optimise state and rig in place; returns the loss of every step.

    `clamp` puts vertices back where they must be (on or above the table), in place.
    """
    levels = _levels(views, len(config.steps), str(state.vertices.device))
    faces = state.binding.faces.cpu().numpy()
    stepper = VertexStep(state.vertices.detach(), faces, smoothing=config.smoothing)
    adam = torch.optim.Adam(state.groups(config), eps=1e-15)
    rig_groups = rig.parameters()
    rig_adam = torch.optim.Adam(rig_groups, eps=1e-15) if rig_groups else None
    first_steps = [group["lr"] for group in adam.param_groups]
    first_rig_steps = [group["lr"] for group in rig_adam.param_groups] if rig_adam else []
    total, done, history = sum(config.steps), 0, []
    for level, count in enumerate(config.steps):
        size = 0.5 ** (len(config.steps) - 1 - level)
        for view in _order(len(views), count, rng):
            fraction = done / total
            slow = 0.1**fraction
            Ts, intrinsics = rig.poses()
            target = levels[level][view]
            colour, coverage = draw(
                state, target, Ts[view], size * intrinsics[view], renderer=renderer, dilation_px2=config.dilation_px2
            )
            loss = picture_loss(colour, target, config.weights) + outline_loss(coverage, target, config.weights)
            loss = loss + state.surface(state.vertices, config.weights)
            is_rig_moving = rig_adam is not None and fraction >= config.rig_start
            if is_rig_moving:
                loss = loss + config.prior_weight / len(views) * rig.prior_loss()
            loss.backward()
            history.append(float(loss.detach()))
            with torch.no_grad():
                stepper.step(state.vertices, state.vertices.grad, slow * config.vertex_step * state.surface.mean_edge)
                clamp(state.vertices)
                state.vertices.grad = None
            _adam_step(adam, first_steps, slow)
            if rig_adam is not None:
                _adam_step(rig_adam, first_rig_steps, slow if is_rig_moving else 0.0)
            done += 1
            if on_progress is not None and done % 50 == 0:
                on_progress(done, total)
    return history


def _adam_step(adam: Any, first_steps: list[float], slow: float) -> None:
    for group, first in zip(adam.param_groups, first_steps, strict=True):
        group["lr"] = first * slow
    if slow > 0.0:
        adam.step()
    adam.zero_grad(set_to_none=True)


def _levels(views: Views, count: int, device: str) -> list[tuple[Target, ...]]:
    """Targets from coarse to full size."""
    pyramid = [views]
    for _ in range(count - 1):
        pyramid.insert(0, pyramid[0].half_size())
    return [make_targets(level, device=device) for level in pyramid]


def _order(view_count: int, step_count: int, rng: np.random.Generator) -> list[int]:
    """Views in random order, all of them before any comes again."""
    rounds = -(-step_count // view_count)
    return [int(i) for _ in range(rounds) for i in rng.permutation(view_count)][:step_count]
