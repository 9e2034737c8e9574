"""Plain 3D Gaussian splatting with gsplat's own strategy of growing and pruning: the baseline on an NVIDIA GPU.

As gsplat 1.5's example trainer does it: random points in a box, degree 3, 0.8 L1 + 0.2 (1 - SSIM) of whole images, its
step sizes, `DefaultStrategy`. All its counts of steps are scaled by one factor, as its `--steps-scaler` does. One thing
is ours: at every refinement the gradient above which Gaussians grow is chosen so that their number follows a straight
line to the asked one, else it could not be compared at equal numbers. gsplat 1.5.3 never resets opacities: its
condition `step % reset_every == 0 & step > 0` is never true.
This file's whole point is torch, so it imports torch at module level.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch  # noqa: TID253 - the training loop
from jaxtyping import Float
from torch import Tensor  # noqa: TID253

from gemel.artifacts.gaussians import Gaussians
from gemel.services.render.similarity import ssim_map
from gemel.services.render.spherical_harmonics import C0
from gemel.stages.reconstruct.views import Views

TRAINER_STEPS = 30_000
"""Steps of the example trainer, on which all counts below are based."""
STEP_SIZES = {"means": 1.6e-4, "scales": 5e-3, "quats": 1e-3, "opacities": 5e-2, "sh0": 2.5e-3, "shN": 2.5e-3 / 20}
"""Adam's; that of the means is multiplied with the scene's size and falls to a hundredth."""
LAST_MEANS_STEP = 0.01
SH_EVERY = 1000
"""Steps after which the next degree of colours joins in."""
FIRST_OPACITY = 0.1
FIRST_PART = 0.5
"""Part of the asked number of Gaussians that training starts with."""
GROWN_BY = 0.9
"""Part of the refinements after which the asked number is reached."""
DILATION_PX2 = 0.3
"""gsplat's own low-pass filter."""
NEIGHBOURS = 3
"""A Gaussian starts as large as the root mean square distance of so many neighbours."""


@dataclass(frozen=True)
class Counts:
    """The trainer's counts for a training of `steps` steps."""

    steps: int

    def scaled(self, trainer_count: int) -> int:
        """One of the trainer's counts of steps, at least 1."""
        return max(round(trainer_count * self.steps / TRAINER_STEPS), 1)

    def strategy(self) -> dict[str, int]:
        """Arguments of `DefaultStrategy`: its defaults, scaled."""
        defaults = {"refine_start_iter": 500, "refine_stop_iter": 15_000, "reset_every": 3000, "refine_every": 100}
        return {name: self.scaled(count) for name, count in defaults.items()}

    def degree(self, step: int) -> int:
        """Degree of the colours at a step."""
        return min(step // self.scaled(SH_EVERY), 3)

    def wanted(self, step: int, asked: int) -> int:
        """Gaussians that there should be after a refinement at a step, of `asked` in the end."""
        first, last = self.scaled(500), self.scaled(15_000)
        part = np.clip((step - first) / (GROWN_BY * (last - first)), 0.0, 1.0)
        return round(asked * (FIRST_PART + (1.0 - FIRST_PART) * float(part)))


def growth_threshold(gradients: Tensor, room: int) -> float:
    """The gradient that no more than `room` of the given ones exceed."""
    if room <= 0:
        return float("inf")
    return 0.0 if room >= len(gradients) else float(torch.topk(gradients, room + 1).values[-1])


def scene_size_m(views: Views) -> float:
    """The trainer's unit of length: a tenth more than the largest distance of a camera from their middle."""
    eyes = np.asarray(views.Ts_world_camera.translation)
    return 1.1 * float(np.linalg.norm(eyes - eyes.mean(axis=0), axis=1).max())


def random_start(
    low: Float[np.ndarray, "3"], high: Float[np.ndarray, "3"], count: int, rng: np.random.Generator, *, device: str
) -> dict[str, Any]:
    """Parameters of `count` Gaussians with random places in a box, turns and colours."""
    from scipy.spatial import cKDTree

    means = rng.uniform(low, high, (count, 3))
    nearest = cKDTree(means).query(means, k=NEIGHBOURS + 1)[0][:, 1:]
    size = np.sqrt(np.mean(nearest**2, axis=1))
    values = {
        "means": means,
        "scales": np.log(np.tile(size[:, None], (1, 3))),
        "quats": rng.uniform(size=(count, 4)),
        "opacities": np.full(count, np.log(FIRST_OPACITY / (1.0 - FIRST_OPACITY))),
        "sh0": (rng.uniform(size=(count, 1, 3)) - 0.5) / C0,
        "shN": np.zeros((count, 15, 3)),
    }
    return {
        name: torch.nn.Parameter(torch.tensor(array, dtype=torch.float32, device=device))
        for name, array in values.items()
    }


def train_default(
    views: Views,
    low: Float[np.ndarray, "3"],
    high: Float[np.ndarray, "3"],
    asked: int,
    *,
    steps: int,
    seed: int,
    device: str = "cuda",
    on_progress: Callable[[int, list[float], int], None] = lambda done, losses, count: None,
) -> tuple[Gaussians, list[float]]:
    """About `asked` Gaussians fitted to images with black round their masks, and the loss of every step."""
    from gsplat import DefaultStrategy, rasterization

    torch.manual_seed(seed)  # the strategy splits at random
    rng, counts, size_m = np.random.default_rng(seed), Counts(steps), scene_size_m(views)
    params = random_start(low, high, counts.wanted(0, asked), rng, device=device)
    step_sizes = {name: lr * (size_m if name == "means" else 1.0) for name, lr in STEP_SIZES.items()}
    optimisers = {name: torch.optim.Adam([params[name]], lr=lr, eps=1e-15) for name, lr in step_sizes.items()}
    strategy = DefaultStrategy(**counts.strategy())
    strategy.check_sanity(params, optimisers)
    state = strategy.initialize_state(scene_scale=size_m)
    images, Ts, Ks = _tensors(views, device)
    losses: list[float] = []
    for step, view in enumerate(_order(len(views), steps, rng)):
        colours, _, info = rasterization(
            means=params["means"], quats=params["quats"], scales=params["scales"].exp(),
            opacities=params["opacities"].sigmoid(), colors=torch.cat([params["sh0"], params["shN"]], dim=1),
            viewmats=Ts[view : view + 1], Ks=Ks[view : view + 1], width=views.width, height=views.height,
            sh_degree=counts.degree(step), packed=False, eps2d=DILATION_PX2,
        )  # fmt: skip
        strategy.step_pre_backward(params, optimisers, state, step, info)
        loss = _loss(colours[0], images[view])
        loss.backward()
        losses.append(float(loss.detach()))
        optimisers["means"].param_groups[0]["lr"] = step_sizes["means"] * LAST_MEANS_STEP ** (step / steps)
        for optimiser in optimisers.values():
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        if step % strategy.refine_every == 0:
            strategy.grow_grad2d = _threshold(state, counts.wanted(step, asked))
        strategy.step_post_backward(params, optimisers, state, step, info, packed=False)
        if (step + 1) % 1000 == 0:
            on_progress(step + 1, losses, len(params["means"]))
    return _gaussians(params), losses


def _order(view_count: int, steps: int, rng: np.random.Generator) -> list[int]:
    """All views before any comes again."""
    rounds = -(-steps // view_count)
    return [int(v) for _ in range(rounds) for v in rng.permutation(view_count)][:steps]


def _threshold(state: dict[str, Any], wanted: int) -> float:
    """The threshold that a refinement now would need; the strategy reads it only when it refines."""
    if state["grad2d"] is None:
        return float("inf")
    gradients = state["grad2d"] / state["count"].clamp_min(1.0)
    return growth_threshold(gradients, wanted - len(gradients))


def _tensors(views: Views, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Masked images (v, h, w, 3), world-to-camera (v, 4, 4) and camera matrices (v, 3, 3)."""
    Ks = np.zeros((len(views), 3, 3))
    Ks[:, 0, 0], Ks[:, 1, 1] = views.intrinsics[:, 0], views.intrinsics[:, 1]
    Ks[:, :2, 2], Ks[:, 2, 2] = views.intrinsics[:, 2:], 1.0
    arrays = (views.images * views.masks[..., None], views.Ts_camera_world, Ks)
    images, Ts, matrices = (torch.tensor(array, dtype=torch.float32, device=device) for array in arrays)
    return images, Ts, matrices


def _loss(drawn: Tensor, image: Tensor) -> Tensor:
    """The trainer's, on whole images."""
    return 0.8 * (drawn - image).abs().mean() + 0.2 * (1.0 - ssim_map(drawn, image).mean())


def _gaussians(params: dict[str, Any]) -> Gaussians:
    with torch.no_grad():
        t = {name: value.detach().cpu().numpy() for name, value in params.items()}
    return Gaussians(
        means=t["means"],
        rotations=t["quats"],
        scales=np.exp(t["scales"]),
        opacities=1.0 / (1.0 + np.exp(-t["opacities"])),
        sh=np.concatenate([t["sh0"], t["shN"]], axis=1),
        dilation_px2=DILATION_PX2,
    )
