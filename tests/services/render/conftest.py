"""Scenes and comparisons that the renderer's tests share."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch  # noqa: TID253

from gemel.services.render.renderer import Renderer, Rendering, RenderRequest

INPUTS = (
    "means",
    "quats",
    "scales",
    "covariances",
    "opacities",
    "sh",
    "extras",
    "Ts_camera_world",
    "intrinsics",
)


def _look(camera: int) -> np.ndarray:
    """A camera at the origin for number 0, others turned and moved a little."""
    a = 0.07 * camera
    T = np.eye(4)
    T[:3, :3] = [[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]]
    T[:3, 3] = (-0.1 * camera, 0.05 * camera, 0.02 * camera)
    return T


@dataclass(frozen=True)
class SceneMaker:
    """Random Gaussians in front of a few cameras, in float64; every field of the request can be overridden."""

    n: int = 300
    width: int = 70
    height: int = 50
    cameras: int = 1
    coefficients: int = 16
    extras: int = 0
    smallest_m: float = 0.02
    largest_m: float = 0.15
    has_covariances: bool = False
    seed: int = 0

    def request(self, **changes: Any) -> RenderRequest:
        rng = np.random.default_rng(self.seed)
        z = rng.uniform(2.0, 4.0, self.n)
        means = np.stack([rng.uniform(-0.55, 0.55, self.n) * z, rng.uniform(-0.42, 0.42, self.n) * z, z], axis=-1)
        scales = np.exp(rng.uniform(np.log(self.smallest_m), np.log(self.largest_m), (self.n, 3)))
        quats = rng.normal(size=(self.n, 4))
        values: dict[str, Any] = {
            "means": means,
            "quats": quats,
            "scales": scales,
            "opacities": rng.uniform(0.05, 0.95, self.n),
            "sh": rng.normal(scale=0.3, size=(self.n, self.coefficients, 3)),
            "extras": rng.normal(size=(self.n, self.extras)),
            "Ts_camera_world": np.stack([_look(c) for c in range(self.cameras)]),
            "intrinsics": np.tile(
                [self.width * 1.0, self.width * 1.02, self.width / 2 + 0.7, self.height / 2 - 0.4],
                (self.cameras, 1),
            ),
        }
        if self.has_covariances:
            factors = rng.normal(size=(self.n, 3, 3)) * scales[:, :, None]
            values |= {"covariances": factors @ factors.transpose(0, 2, 1), "quats": None, "scales": None}
        settings = {key: changes.pop(key) for key in ("is_antialiased", "dilation_px2", "near_m") if key in changes}
        values |= changes
        tensors = {
            key: None if v is None else torch.as_tensor(np.asarray(v), dtype=torch.float64) for key, v in values.items()
        }
        return RenderRequest(**tensors, width=self.width, height=self.height, **settings)


@pytest.fixture
def make_scene() -> Callable[..., RenderRequest]:
    """make_scene(n=..., ..., means=...) -> a float64 request."""

    def make(**fields: Any) -> RenderRequest:
        names = SceneMaker.__dataclass_fields__
        maker = SceneMaker(
            **{key: fields.pop(key) for key in list(fields) if key in names and not isinstance(fields[key], np.ndarray)}
        )
        return maker.request(**fields)

    return make


@pytest.fixture
def converted() -> Callable[..., RenderRequest]:
    """converted(request, dtype, device): the same request as leaves of another type that want gradients."""

    def convert(request: RenderRequest, dtype: torch.dtype = torch.float32, device: str = "cpu") -> RenderRequest:
        tensors = {name: getattr(request, name) for name in INPUTS if getattr(request, name) is not None}
        return replace(request, **{k: t.detach().to(device, dtype).requires_grad_() for k, t in tensors.items()})

    return convert


@pytest.fixture
def run_both_ways() -> Callable[..., tuple[Rendering, dict[str, torch.Tensor]]]:
    """Draw, then pull fixed random image gradients, zero at `hidden` pixels, back to every input."""

    def run(
        renderer: Renderer, request: RenderRequest, hidden: torch.Tensor | None = None
    ) -> tuple[Rendering, dict[str, torch.Tensor]]:
        leaves = {n: getattr(request, n) for n in INPUTS if getattr(request, n) is not None}
        leaves = {n: t.detach().clone().requires_grad_() for n, t in leaves.items()}
        images = renderer.render(replace(request, **leaves))
        generator = torch.Generator().manual_seed(1)
        loss = torch.zeros((), dtype=request.means.dtype, device=request.means.device)
        for channel in (images.colour, images.alpha, images.depth, images.extras):
            slope = torch.randn(channel.shape, generator=generator, dtype=torch.float64)
            if hidden is not None:
                slope[hidden] = 0.0
            loss = loss + (channel * slope.to(channel)).sum()
        loss.backward()
        return images, {n: torch.zeros_like(t) if t.grad is None else t.grad for n, t in leaves.items()}

    return run
