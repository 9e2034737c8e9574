"""An asset as a camera sees it, drawn on the CPU: for judgements and pictures."""

import numpy as np
from jaxtyping import Float, Float32

from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry import SE3


def draw_splatmesh(
    mesh: SplatMesh,
    T_world_camera: SE3,
    intrinsics: Float[np.ndarray, "4"],
    shape: tuple[int, int],
    *,
    gain: tuple[float, float, float] = (1.0, 1.0, 1.0),
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> tuple[Float32[np.ndarray, "h w 3"], Float32[np.ndarray, "h w"]]:
    """Colours over black, through a camera's response, and coverage; drawn on the CPU."""
    import torch

    from gemel.services.render.renderer import RenderRequest, make_renderer
    from gemel.services.render.splatmesh import gaussians_of

    splats = gaussians_of(mesh)

    def tensor(values: np.ndarray) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float32)

    with torch.no_grad():
        images = make_renderer("cpu").render(
            RenderRequest(
                means=tensor(splats.means),
                quats=tensor(splats.rotations),
                scales=tensor(splats.scales),
                opacities=tensor(splats.opacities),
                sh=tensor(splats.sh),
                Ts_camera_world=tensor(T_world_camera.inverse().as_matrix()[None]),
                intrinsics=tensor(np.asarray(intrinsics)[None]),
                width=shape[1],
                height=shape[0],
                dilation_px2=splats.dilation_px2,
            )
        )
    coverage = images.alpha[0].numpy()
    colour = images.colour[0].numpy() * np.asarray(gain, np.float32) + coverage[..., None] * np.asarray(
        offset, np.float32
    )
    return colour, coverage
