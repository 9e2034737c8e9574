"""The joint optimisation: a SplatMesh, the colour response of its cameras, and the rig, against masked pictures.

Coarse to fine, one view per step. Vertices take smoothed steps (vertex_step.py); colours, opacities, sizes, colour
responses and the rig's unknowns take Adam's. This file's whole point is torch, so it imports torch at module level.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch  # noqa: TID253 - the optimisation
from jaxtyping import Float, Int
from torch import Tensor  # noqa: TID253

from gemel.services.render.renderer import Renderer, RenderRequest
from gemel.services.render.splatmesh import Binding, bind, place
from gemel.stages.reconstruct.losses import LossWeights, SurfaceLoss, depth_loss, outline_loss, picture_loss
from gemel.stages.reconstruct.rig import Rig
from gemel.stages.reconstruct.schedule import Turn, turns
from gemel.stages.reconstruct.targets import Target
from gemel.stages.reconstruct.vertex_step import VertexStep
from gemel.stages.reconstruct.views import Views

OnProgress = Callable[[int, int], None]
Order = Callable[[list[float]], Iterator[Turn]]
"""Turns of a fit that may depend on the losses so far: the list given grows by one with every turn."""


@dataclass(frozen=True)
class FitConfig:
    """Length and steps of the optimisation; lengths are relative to the mesh's mean edge."""

    steps: tuple[int, ...] = (200, 400, 800)
    """Steps at a quarter, half and full size of the images; the last is full size."""
    gaussian_count: int = 8000
    """Gaussians, about: several on each face that is seen, one on each that is not."""
    sh_count: int = 1
    """Colour coefficients per channel: 1 is the same from all sides."""
    smoothing: float = 15.0
    """Lambda of the smoothed vertex steps."""
    vertex_sharing: float = 1.0
    """Part of the largest gradient below which vertices share their step size; 1: all share one (vertex_step.py)."""
    vertex_step: float = 0.1
    """Largest step of a vertex, in mean edges, at the start; falls to a tenth."""
    colour_step: float = 0.02
    opacity_step: float = 0.02
    scale_step: float = 0.005
    turn_step: float = 0.0
    """Step by which Gaussians turn in their plane; 0: they keep to the axes of their faces."""
    place_step: float = 0.0
    """Step of a Gaussian on its face, as a part of the face's edges; 0: Gaussians keep their places."""
    response_step: float = 0.002
    light_step: float = 0.002
    """Step of the light of a view; 0: all views are lit alike."""
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
        per_edge: Int[np.ndarray, " f"],
        colours: Float[np.ndarray, "gaussian 3"],
        config: FitConfig,
        *,
        camera_count: int,
        view_count: int,
        device: str,
    ) -> None:
        """`per_edge`² Gaussians on each face, with the given colours in the order of `splatmesh.spread`."""
        from gemel.services.render.spherical_harmonics import C0

        self.surface = SurfaceLoss(vertices, faces, device)
        thickness = config.normal_scale * self.surface.mean_edge
        self.binding: Binding = bind(faces, per_edge=per_edge, normal_scale_m=thickness, device=device)
        count = len(self.binding.barycentric)
        self.vertices = torch.tensor(vertices, dtype=torch.float32, device=device, requires_grad=True)
        sh = torch.zeros((count, config.sh_count, 3), device=device)
        sh[:, 0] = (torch.as_tensor(colours, dtype=torch.float32, device=device) - 0.5) / C0
        self.sh = sh.requires_grad_()
        self.opacity_logits = torch.full((count,), 3.0, device=device, requires_grad=True)
        first = np.log(config.first_scale / np.repeat(per_edge, per_edge**2))
        self.log_scale = torch.tensor(
            np.stack([first, first], axis=-1), dtype=torch.float32, device=device, requires_grad=True
        )
        self.turn = torch.zeros((count, 1), device=device, requires_grad=config.turn_step > 0.0)
        self.uv = self.binding.barycentric[:, 1:].clone().requires_grad_(config.place_step > 0.0)
        self.gains = torch.zeros((camera_count, 3), device=device, requires_grad=True)
        self.offsets = torch.zeros((camera_count, 3), device=device, requires_grad=True)
        self.lights = torch.zeros((view_count, 3), device=device, requires_grad=config.light_step > 0.0)

    def in_plane_scale(self) -> Tensor:
        """(g, 2), or (g, 3) where Gaussians may turn, as `splatmesh.place` takes it."""
        scale = self.log_scale.exp()
        return torch.cat([scale, self.turn * scale[:, :1]], dim=1) if self.turn.requires_grad else scale

    def keep_on_faces(self) -> None:
        """Bring Gaussians that left their face back to its border, in place."""
        with torch.no_grad():
            self.uv.clamp_(min=0.0)
            self.uv.div_(self.uv.sum(dim=1, keepdim=True).clamp_min(1.0))

    def groups(self, config: FitConfig) -> list[dict[str, Any]]:
        """Adam's groups, without vertices and rig."""
        groups: list[dict[str, Any]] = [
            {"params": [self.sh], "lr": config.colour_step},
            {"params": [self.opacity_logits], "lr": config.opacity_step},
            {"params": [self.log_scale], "lr": config.scale_step},
            {"params": [self.turn], "lr": config.turn_step},
            {"params": [self.uv], "lr": config.place_step},
            {"params": [self.gains, self.offsets], "lr": config.response_step},
            {"params": [self.lights], "lr": config.light_step},
        ]
        return [group for group in groups if group["lr"] > 0.0]


def draw(
    state: SplatState,
    target: Target,
    light: Tensor,
    T_camera_world: Tensor,
    intrinsics: Tensor,
    *,
    renderer: Renderer,
    dilation_px2: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Colours (h, w, 3) in the view's light (3,), through the camera's response, coverage (h, w) and depth [m]."""
    means, covariances = place(state.vertices, state.binding, state.in_plane_scale(), state.uv)
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
    return (target.light_basis @ light).exp()[..., None] * colour, coverage, images.depth[0]


def fit_splats(
    state: SplatState,
    views: Views,
    rig: Rig,
    config: FitConfig,
    *,
    renderer: Renderer,
    clamp: Callable[[Tensor], None],
    rng: np.random.Generator,
    order: Order | None = None,
    on_progress: OnProgress | None = None,
) -> list[float]:
    """Optimise state and rig in place; returns the loss of every step.

    `clamp` puts vertices back where they must be (on or above the table), in place. Without an `order`, steps are the
    configuration's.
    """
    faces = state.binding.faces.cpu().numpy()
    stepper = VertexStep(state.vertices.detach(), faces, smoothing=config.smoothing, shared=config.vertex_sharing)
    adam, rig_adam = _Adam(state.groups(config)), _Adam(rig.parameters())
    total, history, device = sum(config.steps), list[float](), str(state.vertices.device)
    for turn in turns(views, config.steps, rng, device=device) if order is None else order(history):
        Ts, intrinsics = rig.poses()
        lens = turn.size * intrinsics[turn.view]
        colour, coverage, depth = draw(
            state,
            turn.target,
            state.lights[turn.view],
            Ts[turn.view],
            lens,
            renderer=renderer,
            dilation_px2=config.dilation_px2,
        )
        loss = picture_loss(colour, turn.target, config.weights) + outline_loss(coverage, turn.target, config.weights)
        if turn.target.depth is not None:
            loss = loss + depth_loss(depth, turn.target, state.surface.mean_edge, config.weights)
        loss = loss + state.surface(state.vertices, config.weights)
        loss = loss + config.prior_weight / len(views) * rig.prior_loss()
        loss = loss + config.weights.light * state.lights[turn.view].square().sum()
        loss.backward()
        history.append(float(loss.detach()))
        with torch.no_grad():
            largest = turn.slowness * config.vertex_step * state.surface.mean_edge
            stepper.step(state.vertices, state.vertices.grad, largest)
            clamp(state.vertices)
            state.vertices.grad = None
        adam.step(turn.slowness)
        state.keep_on_faces()
        rig_adam.step(turn.slowness if turn.fraction >= config.rig_start else 0.0)
        if on_progress is not None and len(history) % 50 == 0:
            on_progress(len(history), total)
    return history


class _Adam:
    """Adam whose steps shrink; without parameters it does nothing."""

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        self._adam = torch.optim.Adam(groups, eps=1e-15) if groups else None
        self._first = [group["lr"] for group in groups]

    def step(self, slowness: float) -> None:
        """One step with all sizes multiplied by `slowness`, none if that is zero; gradients are cleared."""
        if self._adam is None:
            return
        for group, first in zip(self._adam.param_groups, self._first, strict=True):
            group["lr"] = slowness * first
        if slowness > 0.0:
            self._adam.step()
        self._adam.zero_grad(set_to_none=True)
