"""Many scenes in one call: the same Gaussians in other places, one camera to a scene, as vector environments need it.

A GPU draws them together; elsewhere they are drawn one after the other. Without gradients. This file's whole point is
torch, so it imports torch at module level.
"""

from dataclasses import dataclass, fields
from math import isfinite

import torch  # noqa: TID253 - tensors that the renderer draws
from torch import Tensor  # noqa: TID253

from gemel.services.render.checks import not_finite
from gemel.services.render.renderer import Renderer, Rendering, RenderRequest
from gemel.services.render.spherical_harmonics import C0


@dataclass(frozen=True)
class SceneBatch:
    """b scenes of n Gaussians, all tensors float32 on the renderer's device; conventions are those of `renderer.py`."""

    means: Tensor
    """Centres in the world [m], (b, n, 3)."""
    covariances: Tensor
    """In the world [m^2], (b, n, 3, 3)."""
    opacities: Tensor
    """0 to 1, (b, n)."""
    colours: Tensor
    """RGB, the same from all sides, (b, n, 3)."""
    Ts_camera_world: Tensor
    """One camera for each scene, (b, 4, 4)."""
    intrinsics: Tensor
    """fx, fy, cx, cy of all of them [px], (4,)."""
    width: int
    height: int
    dilation_px2: float
    extras: Tensor | None = None
    """Further channels to blend, (b, n, e)."""

    def request(self, scene: int) -> RenderRequest:
        """One of the scenes."""
        return RenderRequest(
            means=self.means[scene],
            covariances=self.covariances[scene],
            opacities=self.opacities[scene],
            sh=((self.colours[scene] - 0.5) / C0)[:, None],
            extras=None if self.extras is None else self.extras[scene],
            Ts_camera_world=self.Ts_camera_world[scene, None],
            intrinsics=self.intrinsics[None],
            width=self.width,
            height=self.height,
            dilation_px2=self.dilation_px2,
        )


def render_scenes(renderer: Renderer, batch: SceneBatch) -> Rendering:
    """Images of all scenes, with the scenes in the place of cameras."""
    with torch.no_grad():
        _check_values(batch)
        if renderer.name == "cuda" and len(batch.means) > 1:
            from gemel.services.render.cuda import rasterise_scenes

            return rasterise_scenes(batch)
        drawn = [renderer.render(batch.request(scene)) for scene in range(len(batch.means))]
        return drawn[0] if len(drawn) == 1 else _joined(drawn)


def _check_values(batch: SceneBatch) -> None:
    """Refuse NaN and infinity by the names of this batch, with one copy to the host for all of it."""
    given = {f.name: t for f in fields(batch) if isinstance(t := getattr(batch, f.name), Tensor)}
    for name, size in zip(given, torch.stack(torch._foreach_norm([*given.values()], 1)).tolist(), strict=True):
        if not isfinite(size):
            raise not_finite(name)


def _joined(drawn: list[Rendering]) -> Rendering:
    return Rendering(*(torch.cat([getattr(one, field.name) for one in drawn]) for field in fields(Rendering)))
