"""The reference itself: gradients against finite differences, and one Gaussian against pencil and paper."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch  # noqa: TID253

from gemel.services.render.reference import RendererReference
from gemel.services.render.renderer import RenderRequest
from gemel.services.render.spherical_harmonics import C0

NAMES = ("means", "quats", "scales", "covariances", "opacities", "sh", "extras", "intrinsics")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"is_antialiased": True},
        {"has_covariances": True},
        pytest.param({"coefficients": 4, "cameras": 2}, marks=pytest.mark.slow),
    ],
)
def test_gradients_equal_finite_differences(fields: dict[str, Any], make_scene: Any) -> None:
    """autograd through the reference agrees with central differences in float64 for every input."""
    request = make_scene(n=4, width=7, height=6, smallest_m=0.2, largest_m=0.6, extras=2, seed=3, **fields)
    names = [name for name in NAMES if getattr(request, name) is not None]
    rigid = request.Ts_camera_world[:, :3].clone()

    def draw(poses: torch.Tensor, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        last = torch.tensor([0.0, 0.0, 0.0, 1.0], dtype=torch.float64).expand(len(poses), 1, 4)
        changed = replace(
            request, Ts_camera_world=torch.cat([poses, last], dim=1), **dict(zip(names, tensors, strict=True))
        )
        images = RendererReference().render(changed)
        return images.colour, images.alpha, images.depth * images.alpha, images.extras

    leaves = [rigid, *(getattr(request, name) for name in names)]
    assert torch.autograd.gradcheck(draw, [leaf.clone().requires_grad_() for leaf in leaves], eps=1e-6, atol=1e-5)


def test_one_gaussian_on_the_axis_is_what_the_formula_says() -> None:
    """A round Gaussian on the optical axis: alpha, colour, depth and extras at its pixel follow from the definition."""
    f, z, sigma, opacity = 50.0, 2.0, 0.1, 0.8
    request = RenderRequest(
        means=torch.tensor([[0.0, 0.0, z]], dtype=torch.float64),
        quats=torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64),
        scales=torch.full((1, 3), sigma, dtype=torch.float64),
        opacities=torch.tensor([opacity], dtype=torch.float64),
        sh=torch.tensor([[[1.0, 0.0, -9.0]]], dtype=torch.float64),
        extras=torch.tensor([[7.0]], dtype=torch.float64),
        Ts_camera_world=torch.eye(4, dtype=torch.float64)[None],
        intrinsics=torch.tensor([[f, f, 10.5, 10.5]], dtype=torch.float64),
        width=21,
        height=21,
        dilation_px2=0.3,
    )
    images = RendererReference().render(request)
    variance = (f * sigma / z) ** 2 + 0.3
    expected = opacity * np.exp(-0.5 * 3.0**2 / variance)
    assert images.alpha[0, 10, 10].item() == pytest.approx(opacity)
    assert images.alpha[0, 10, 13].item() == pytest.approx(expected)
    assert images.colour[0, 10, 13].tolist() == pytest.approx([expected * (0.5 + C0), expected * 0.5, 0.0])
    assert images.depth[0, 10, 13].item() == pytest.approx(z)
    assert images.extras[0, 10, 13, 0].item() == pytest.approx(7.0 * expected)


def test_nearer_gaussian_hides_what_lies_behind(make_scene: Any) -> None:
    """With an opaque Gaussian in front, what lies behind adds at most one thousandth."""
    means = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    request = make_scene(
        n=2,
        means=means,
        scales=np.full((2, 3), 0.5),
        opacities=np.array([1.0, 1.0]),
        extras=np.array([[0.0], [1.0]]),
    )
    images = RendererReference().render(request)
    row, column = int(request.intrinsics[0, 3]), int(request.intrinsics[0, 2])
    assert images.extras[0, row, column, 0].item() < 1.1e-3
