"""Requests that cannot be right are refused with a sentence that says what was given, expected and to be done."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch  # noqa: TID253

from gemel.artifacts.gaussians import Gaussians
from gemel.errors import ConfigError, GemelError
from gemel.services.render.renderer import RenderRequest, make_renderer, usable_backends

Change = Callable[[RenderRequest], dict[str, Any]]


def _with_nan(tensor: torch.Tensor) -> torch.Tensor:
    bad = tensor.detach().clone()
    bad.view(-1)[-1] = float("nan")
    return bad


CASES: dict[str, tuple[Change, str]] = {
    "nan means": (lambda r: {"means": _with_nan(r.means)}, "'means' holds .*NaN or infinite"),
    "nan quats": (lambda r: {"quats": _with_nan(r.quats)}, "'quats' holds"),
    "nan scales": (lambda r: {"scales": _with_nan(r.scales)}, "'scales' holds"),
    "nan opacities": (lambda r: {"opacities": _with_nan(r.opacities)}, "'opacities' holds"),
    "nan sh": (lambda r: {"sh": _with_nan(r.sh)}, "'sh' holds"),
    "nan extras": (lambda r: {"extras": _with_nan(r.extras)}, "'extras' holds"),
    "too few opacities": (
        lambda r: {"opacities": r.opacities[1:]},
        r"'opacities' has shape \(4,\): expected \(5,\)",
    ),
    "five coefficients": (lambda r: {"sh": r.sh[:, :5]}, "'sh' has shape"),
    "extras without rows": (lambda r: {"extras": r.extras[0]}, "'extras' has shape"),
    "three quats": (lambda r: {"quats": r.quats[:, :3]}, "'quats' has shape"),
    "no shape": (lambda r: {"quats": None}, "expected quats and scales, or covariances"),
    "two shapes": (
        lambda r: {"covariances": torch.eye(3).expand(5, 3, 3)},
        "expected quats and scales, or covariances",
    ),
    "zero focal length": (
        lambda r: {"intrinsics": r.intrinsics * torch.tensor([0.0, 1, 1, 1])},
        "focal lengths fx = 0",
    ),
    "nan pose": (lambda r: {"Ts_camera_world": _with_nan(r.Ts_camera_world)}, "NaN or infinity"),
    "scaled pose": (lambda r: {"Ts_camera_world": r.Ts_camera_world * 2.0}, "not a rigid transform"),
    "pose without camera": (lambda r: {"intrinsics": r.intrinsics[:0]}, "'Ts_camera_world' has shape"),
    "empty image": (lambda r: {"width": 0}, "expected at least 1x1"),
    "negative dilation": (lambda r: {"dilation_px2": -0.1}, "dilation"),
    "mixed types": (lambda r: {"sh": r.sh.double()}, "expected one type on one device"),
    "integers": (
        lambda r: {k: getattr(r, k).int() for k in r.__dataclass_fields__ if isinstance(getattr(r, k), torch.Tensor)},
        "float type",
    ),
}


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("case", CASES)
def test_bad_request_is_refused_with_a_clear_message(case: str, backend: str, make_scene: Any, converted: Any) -> None:
    """Every kind of bad input raises a ConfigError that names it, before anything is drawn."""
    request = converted(make_scene(n=5, extras=1))
    change, message = CASES[case]
    with pytest.raises(ConfigError, match=message) as caught:
        make_renderer(backend).render(replace(request, **change(request)))
    assert "What to do" in str(caught.value)


def test_float64_is_for_the_reference_only(make_scene: Any) -> None:
    """The CPU kernels are float32; float64 is refused, not silently rounded."""
    with pytest.raises(ConfigError, match="expected float32 on cpu"):
        make_renderer("cpu").render(make_scene(n=5))


def test_unknown_renderer_lists_the_choices() -> None:
    """A misspelt name is answered with the closest one."""
    with pytest.raises(ConfigError, match="Closest: 'cuda'"):
        make_renderer("cude")


def test_auto_is_cuda_if_usable_else_cpu() -> None:
    """Selection never falls back to anything else."""
    wanted = "cpu" if usable_backends()["cuda"] else "cuda"
    assert make_renderer().name == wanted
    assert usable_backends()["cpu"] == ""


@pytest.mark.skipif(not usable_backends()["cuda"], reason="CUDA is usable here")
def test_missing_cuda_is_told_with_the_remedy() -> None:
    """Asking for cuda where it cannot run names what is missing."""
    with pytest.raises(GemelError, match="What to do"):
        make_renderer("cuda")


def _gaussians(**changes: Any) -> Gaussians:
    n = 3
    fields: dict[str, Any] = {
        "means": np.zeros((n, 3), np.float32), "rotations": np.ones((n, 4), np.float32),
        "scales": np.ones((n, 3), np.float32), "opacities": np.full(n, 0.5, np.float32),
        "sh": np.zeros((n, 4, 3), np.float32),
    }  # fmt: skip
    return Gaussians(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"means": np.full((3, 3), np.nan, np.float32)}, "means holds 9 value"),
        ({"scales": np.ones((2, 3), np.float32)}, r"scales is float32 \(2, 3\), expected"),
        ({"sh": np.zeros((3, 5, 3), np.float32)}, "1, 4, 9 or 16"),
        ({"opacities": np.full(3, 1.5, np.float32)}, "expected 0 to 1"),
        ({"scales": np.full((3, 3), -1.0, np.float32)}, "zero or more"),
        ({"extras": {"id": np.zeros((2, 1), np.float32)}}, r"extras\['id'\]"),
        ({"dilation_px2": -1.0}, "dilation_px2"),
    ],
)
def test_impossible_gaussians_are_refused(changes: dict[str, Any], message: str) -> None:
    """The noun checks lengths, counts, ranges and finiteness when it is made."""
    with pytest.raises(GemelError, match=message):
        _gaussians(**changes)
