"""Many scenes in one call: drawn as requests are, and refused by the names of the batch.

On a machine without a GPU a stand-in with gsplat's interface takes the CUDA back end's one call.
"""

import sys
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch  # noqa: TID253

from gemel.errors import ConfigError
from gemel.services.render.reference import RendererReference
from gemel.services.render.renderer import Rendering, RenderRequest
from gemel.services.render.scene_batch import SceneBatch, render_scenes
from gemel.services.render.spherical_harmonics import C0

CUDA: Any = SimpleNamespace(name="cuda")


def batch(scenes: int = 3, n: int = 40) -> SceneBatch:
    """Gaussians in front of a camera, some nearer than anything is drawn, some of colours below zero."""
    rng = torch.Generator().manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=rng)

    z = 2.0 + random(scenes, n, 1)
    z[:, :5] = torch.tensor([0.004, 0.009, 0.012, 0.05, 0.15])[:, None]
    factors = 0.1 * z[..., None] * (random(scenes, n, 3, 3) - 0.5)
    cameras = torch.eye(4).repeat(scenes, 1, 1)
    cameras[:, 0, 3] = 0.001 * torch.arange(scenes)
    return SceneBatch(
        means=torch.cat([(random(scenes, n, 2) - 0.5) * z, z], dim=-1),
        covariances=factors @ factors.mT,
        opacities=0.2 + 0.6 * random(scenes, n),
        colours=1.2 * random(scenes, n, 3) - 0.1,
        Ts_camera_world=cameras,
        intrinsics=torch.tensor([30.0, 31.0, 16.5, 11.0]),
        width=32,
        height=24,
        dilation_px2=0.3,
        extras=random(scenes, n, 2),
    )


def rasterization(
    *, means: Any, quats: None, scales: None, covars: Any, opacities: Any, colors: Any, viewmats: Any, Ks: Any,
    width: int, height: int, near_plane: float, eps2d: float, packed: bool, render_mode: str, rasterize_mode: str,
) -> tuple[Any, Any, None]:  # fmt: skip
    """gsplat's call for scenes of one camera each, by the reference; what gsplat would assume itself has to be said."""
    assert render_mode == "RGB+ED"
    blended, alphas = [], []
    for scene, K in enumerate(Ks[:, 0]):
        drawn = RendererReference().render(
            RenderRequest(
                means=means[scene], covariances=covars[scene], opacities=opacities[scene],
                sh=((colors[scene, :, :3] - 0.5) / C0)[:, None], extras=colors[scene, :, 3:],
                Ts_camera_world=viewmats[scene], intrinsics=torch.stack([K[0, 0], K[1, 1], K[0, 2], K[1, 2]])[None],
                width=width, height=height, dilation_px2=eps2d, near_m=near_plane,
                is_antialiased={"classic": False, "antialiased": True}[rasterize_mode],
            )
        )  # fmt: skip
        blended.append(torch.cat([drawn.colour, drawn.extras, drawn.depth[..., None]], dim=-1))
        alphas.append(drawn.alpha[..., None])
    return torch.stack(blended), torch.stack(alphas), None


def test_the_one_call_on_a_gpu_is_told_what_requests_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Near plane, filter, channels and cameras of a batch reach gsplat as those of its requests reach a renderer."""
    monkeypatch.setitem(sys.modules, "gsplat", SimpleNamespace(rasterization=rasterization))
    given = batch()
    together, alone = render_scenes(CUDA, given), render_scenes(RendererReference(), given)
    assert float(alone.alpha.max()) > 0.5
    for field in fields(Rendering):
        torch.testing.assert_close(getattr(together, field.name), getattr(alone, field.name))


@pytest.mark.parametrize("scenes", [1, 3])
@pytest.mark.parametrize(
    "field", ["means", "covariances", "opacities", "colours", "Ts_camera_world", "intrinsics", "extras"]
)
def test_what_is_not_finite_is_named_as_the_batch_names_it(field: str, scenes: int) -> None:
    """On every back end, for one scene and for many."""
    given = batch(scenes)
    bad = getattr(given, field).clone()
    bad.view(-1)[-1] = float("nan")
    for renderer in (CUDA, RendererReference()):
        with pytest.raises(ConfigError, match=f"'{field}' holds .*NaN or infinite"):
            render_scenes(renderer, replace(given, **{field: bad}))
