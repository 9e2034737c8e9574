"""Every back end draws what the reference draws and returns its gradients, on scenes that are easy to get wrong."""

from typing import Any

import numpy as np
import pytest
import torch  # noqa: TID253

from gemel.services.render.reference import RendererReference
from gemel.services.render.renderer import Rendering, make_renderer, usable_backends

BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]

# Measured on an AVX-512 machine over all scenes below, against the reference in float64 on the same (float32) inputs:
# images differ by at most 3.1e-6 of their largest value, gradients by at most 1.02e-5 of theirs. The tolerances leave a
# factor of four to five. On CUDA (NVIDIA H200, gsplat 1.5.3) images differ by at most 7.1e-6 and gradients by at most
# 3.5e-4 of their largest value (one large Gaussian alone: fast exp, other order of sums); allowed is about twice that.
IMAGE_TOLERANCE = {"cpu": 1.5e-5, "cuda": 3e-5}
GRADIENT_TOLERANCE = {"cpu": 4e-5, "cuda": 8e-4}


def _quats(n: int) -> np.ndarray:
    quats = np.random.default_rng(5).normal(size=(n, 4))
    quats[::3] = 0.0
    quats[1::3] *= 1e-4
    return quats


SCENES: dict[str, dict[str, Any]] = {
    "many": {"n": 3000, "smallest_m": 0.01, "largest_m": 0.06},
    "few": {"n": 3, "largest_m": 0.4},
    "one": {"n": 1, "largest_m": 0.4},
    "none": {"n": 0},
    "nine_so_that_the_last_vector_is_nearly_empty": {"n": 9},
    "empty_tiles": {"n": 20, "width": 200, "height": 130, "largest_m": 0.05},
    "image_smaller_than_a_tile": {"n": 40, "width": 5, "height": 3},
    "behind_the_camera": {"n": 60, "near_m": 3.0},
    "huge": {"n": 30, "smallest_m": 1.0, "largest_m": 20.0},
    "tiny": {"n": 400, "smallest_m": 1e-6, "largest_m": 1e-3},
    "tiny_antialiased": {"n": 400, "smallest_m": 2e-3, "largest_m": 2e-2, "is_antialiased": True},
    "flat_discs": {"n": 50, "scales": np.tile([0.2, 0.1, 0.0], (50, 1))},
    "transparent": {"n": 50, "opacities": np.zeros(50)},
    "opaque": {"n": 200, "opacities": np.ones(200)},
    "off_screen": {"n": 200, "means": np.random.default_rng(3).uniform([-9, -9, 1], [9, 9, 5], (200, 3))},
    "degenerate_quaternion": {"n": 60, "quats": _quats(60)},
    "degree_0": {"coefficients": 1},
    "degree_1": {"coefficients": 4},
    "degree_2": {"coefficients": 9},
    "dark_colours_clamped": {"sh": np.random.default_rng(4).normal(-2.0, 1.0, (300, 16, 3))},
    "extras": {"extras": 5},
    "covariances": {"has_covariances": True},
    "covariances_antialiased": {"has_covariances": True, "is_antialiased": True},
    "antialiased": {"is_antialiased": True},
    "no_dilation": {"dilation_px2": 0.0},
    "three_cameras": {"cameras": 3, "extras": 2, "n": 200},
    "equal_depths": {"n": 50, "means": np.random.default_rng(6).uniform([-1, -1, 3], [1, 1, 3], (50, 3))},
}


def _flips(given: Rendering, wanted: Rendering, backend: str) -> torch.Tensor:
    """Pixels (c, h, w) in which a splat within rounding of alpha = 1/255 was drawn by one side and not by the other.

    At most two in a scene (one in 27 scenes was seen on CUDA, none on the CPU), and never by more than that alpha.
    """
    apart = (given.alpha.detach().double().cpu() - wanted.alpha.detach()).abs()
    flipped = apart > IMAGE_TOLERANCE[backend]
    assert int(flipped.sum()) <= (2 if backend == "cuda" else 0)
    assert not flipped.any() or float(apart[flipped].max()) <= 1.01 / 255
    return flipped


def _worst(given: torch.Tensor, wanted: torch.Tensor) -> float:
    """Largest difference over the largest wanted value."""
    if wanted.numel() == 0:
        return 0.0
    return float(
        (given.detach().double().cpu() - wanted.detach()).abs().max() / wanted.detach().abs().max().clamp_min(1e-6)
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SCENES)
def test_forward_and_every_gradient_equal_the_reference(
    name: str, backend: str, make_scene: Any, converted: Any, run_both_ways: Any
) -> None:
    """Images and gradients of all inputs, poses and intrinsics agree with the float64 reference."""
    obstacle = usable_backends()[backend]
    if obstacle:
        pytest.skip(f"{backend} cannot be used here: {obstacle}")
    request = converted(make_scene(**SCENES[name]), device="cuda" if backend == "cuda" else "cpu")
    wide = converted(request, torch.float64)
    hidden = _flips(make_renderer(backend).render(request), RendererReference().render(wide), backend)
    wanted, wanted_gradients = run_both_ways(RendererReference(), wide, hidden)
    given, gradients = run_both_ways(make_renderer(backend), request, hidden)
    keep = ~hidden
    errors = {
        k: _worst(getattr(given, k).cpu()[keep], getattr(wanted, k)[keep])
        for k in ("colour", "alpha", "depth", "extras")
    }
    assert max(errors.values()) <= IMAGE_TOLERANCE[backend], errors
    slopes = {k: _worst(gradients[k], wanted_gradients[k]) for k in wanted_gradients}
    assert max(slopes.values()) <= GRADIENT_TOLERANCE[backend], slopes


def test_zero_dilation_and_zero_size_draw_nothing(make_scene: Any, converted: Any) -> None:
    """A Gaussian without any extent and without low-pass filter has no footprint, and no NaN."""
    request = converted(make_scene(n=4, scales=np.zeros((4, 3)), dilation_px2=0.0))
    images = make_renderer("cpu").render(request)
    images.colour.sum().backward()
    assert float(images.alpha.detach().abs().max()) == 0.0
    assert all(torch.isfinite(getattr(request, k).grad).all() for k in ("means", "scales", "quats", "opacities"))
