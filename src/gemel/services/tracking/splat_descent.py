"""The last part of a millimetre: the pose by gradients through the renderer, drawn with the light as found before.

Gauss-Newton moves the drawn image in its own plane; here the object itself moves, so that parallax, outlines and what
hides behind what are right. The light of the start is kept as a factor and a summand for each pixel of the object.
This file's whole point is torch, so it imports torch at module level.
"""

from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - gradients through the renderer
from jaxtyping import Float
from torch import Tensor  # noqa: TID253

from gemel.services.kinematics.forward import exp_se3, rigid
from gemel.services.tracking.evidence import moved
from gemel.services.tracking.expected import Light
from gemel.services.tracking.refine import Sight, expected_views
from gemel.services.tracking.view import View

_STEP = (4e-4, 4e-4, 4e-4, 2e-3, 2e-3, 2e-3)
"""Adam's first step for each unknown [m, rad]."""
_LAST_STEP = 0.05
"""The last step over the first."""
_OUTLIER = 0.06
"""Colour difference beyond which a pixel counts less and less, of white."""
_NOISE = 0.06
"""Noise of a colour against which the prior is weighed, of white: three pixels of three channels tell as one."""


@dataclass(frozen=True)
class _Target:
    """What one view should show, as tensors of its cut-out."""

    rows: slice
    columns: slice
    image: Tensor
    outside: Tensor
    factor: Tensor
    summand: Tensor
    is_used: Tensor

    def cost(self, colour: Tensor, coverage: Tensor) -> Tensor:
        """Squared difference from the image, in units of noise; what is far off counts less."""
        a = coverage[self.rows, self.columns, None]
        shown = colour[self.rows, self.columns] * self.factor + a * self.summand + (1.0 - a) * self.outside
        difference = (self.image - shown) * self.is_used
        with torch.no_grad():
            trust = 1.0 / (1.0 + difference.square().mean(dim=-1, keepdim=True) / _OUTLIER**2)
        return 0.5 * (trust * difference.square()).sum() / _NOISE**2


def descend(sight: Sight, T_world_object: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "4 4"]:
    """The pose after `splat_steps` steps of Adam from `T_world_object`."""
    found = expected_views(sight, T_world_object)
    seen = [(view, light, T) for view, (light, T) in zip(sight.views, found, strict=True) if light is not None]
    if not seen:
        return np.array(T_world_object)
    targets = [_target(view, expected.light) for view, expected, _ in seen]
    Ts_camera_world = torch.tensor(np.stack([view.T_camera_world for view, _, _ in seen]))
    Ts_late = torch.tensor(np.stack([T for _, _, T in seen]))  # (c, 4, 4), each at its view's time
    rest, count = sight.prior(T_world_object), sight.config.splat_steps
    step = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    scale = torch.tensor(_STEP, dtype=torch.float64)
    adam = torch.optim.Adam([step], lr=1.0)
    for k in range(count):
        adam.param_groups[0]["lr"] = _LAST_STEP ** (k / count)
        d = step * scale
        Ts = Ts_camera_world @ _moved(Ts_late, d)
        cost = _prior_cost(rest, d)
        for i, (view, _, _) in enumerate(seen):
            k_px = torch.tensor(view.intrinsics[None], dtype=torch.float32)
            images = sight.tracked.render(Ts[i : i + 1].float(), k_px, view.shape, renderer=sight.renderer)
            cost = cost + targets[i].cost(images.colour[0], images.alpha[0]).double()
        adam.zero_grad(set_to_none=True)
        cost.backward()
        adam.step()
    return moved(T_world_object, (step * scale).detach().numpy())


def _target(view: View, light: Light) -> _Target:
    image = torch.tensor(view.image[light.cut])
    rows, columns = light.cut
    outside, factor, summand = (torch.tensor(layer) for layer in (light.outside, light.factor, light.summand))
    return _Target(
        rows, columns, image, outside, factor, summand, torch.tensor(light.is_used[..., None], dtype=torch.float32)
    )


def _moved(Ts_world_object: Tensor, d: Tensor) -> Tensor:
    """Poses (c, 4, 4) after one perturbation about their origins."""
    R = exp_se3(torch.cat([torch.zeros(3, dtype=d.dtype), d[3:]])[None])[0, :3, :3]
    rotation = R @ Ts_world_object[:, :3, :3]
    return rigid(rotation, Ts_world_object[:, :3, 3] + d[:3])


def _prior_cost(prior: tuple[np.ndarray, np.ndarray], d: Tensor) -> Tensor:
    information, gradient = (torch.tensor(part) for part in prior)
    return 0.5 * d @ information @ d - gradient @ d
