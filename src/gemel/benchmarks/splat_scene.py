"""The scene of the splat benchmark: a cloud of Gaussians of a few to a few dozen pixels each, seen by one camera."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gemel.services.render.renderer import RenderRequest
else:
    RenderRequest = Any

COEFFICIENTS = 16
"""SH degree 3."""


def make_request(gaussian_count: int, width: int, height: int, *, seed: int, device: str = "cpu") -> RenderRequest:
    """Random Gaussians that fill the view, 2 to 4 m away; leaves that want gradients.

    Standard deviations are log-uniform from 6 to 20 mm (0.3 to 1.6 px at 160x120, plus the low-pass filter), opacities
    uniform from 0.05 to 0.95, orientations and degree-3 colours random.
    """
    import torch

    from gemel.services.render.renderer import RenderRequest as Request

    rng, n = np.random.default_rng(seed), gaussian_count
    z = rng.uniform(2.0, 4.0, n)
    half_x, half_y = 0.55, 0.55 * height / width
    arrays = {
        "means": np.stack([rng.uniform(-half_x, half_x, n) * z, rng.uniform(-half_y, half_y, n) * z, z], axis=-1),
        "quats": rng.normal(size=(n, 4)),
        "scales": np.exp(rng.uniform(np.log(0.006), np.log(0.02), (n, 3))),
        "opacities": rng.uniform(0.05, 0.95, n),
        "sh": rng.normal(scale=0.3, size=(n, COEFFICIENTS, 3)),
        "Ts_camera_world": np.eye(4)[None],
        "intrinsics": np.array([[width, width, width / 2, height / 2]], dtype=np.float64),
    }
    leaves = {
        name: torch.tensor(values, dtype=torch.float32, device=device).requires_grad_()
        for name, values in arrays.items()
    }
    return Request(**leaves, width=width, height=height)


def leaves_of(request: RenderRequest) -> list[Any]:
    """The tensors whose gradients the benchmark asks for: all of them, pose and intrinsics included."""
    names = ("means", "quats", "scales", "opacities", "sh", "Ts_camera_world", "intrinsics")
    return [getattr(request, name) for name in names]
