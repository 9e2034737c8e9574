"""Images as a real lens gives them: drawn by a pinhole camera that sees enough, then bent."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from gemel.artifacts.camera import Camera
from gemel.errors import ConfigError
from gemel.geometry import Pinhole, pixel_centres

if TYPE_CHECKING:
    from torch import Tensor

_MOST_WIDER = 3.0
"""A pinhole image is never drawn more than so many times wider than the camera's own; beyond that, edges stay black."""


@dataclass(frozen=True, eq=False)
class Lens:
    """One camera's optics."""

    intrinsics: Float[np.ndarray, "4"]
    """fx, fy, cx, cy [px] of the pinhole camera that is drawn."""
    shape: tuple[int, int]
    """Height and width [px] of what is drawn."""
    places: Float[np.ndarray, "2 h w"] | None
    """Row and column in what is drawn of each pixel of the camera; None for a camera that bends nothing."""

    @staticmethod
    def of(camera: Camera) -> "Lens":
        """The optics of a calibrated camera."""
        model = camera.model
        if model is None:
            raise ConfigError(
                f"Camera {camera.name!r} has no intrinsics, so nothing can be drawn for it.",
                remedy=f"give its model in twin.toml under [cameras.{camera.name}]",
            )
        if isinstance(model, Pinhole):
            return Lens(np.array([model.fx, model.fy, model.cx, model.cy]), (camera.height, camera.width), None)
        straight = model.undistorted()
        at = straight.project(model.unproject(pixel_centres(camera.width, camera.height)))
        middle = 0.5 * np.array([camera.width, camera.height])
        reach = _MOST_WIDER * middle
        known = at[np.isfinite(at).all(axis=-1)]
        low, high = (np.clip(end, middle - reach, middle + reach) for end in (known.min(axis=0), known.max(axis=0)))
        low = np.floor(low - 1.0)  # a pixel to spare on each side, from the whole pixel where the image now starts
        size = np.ceil(high + 1.0 - low).astype(int)
        k = np.array([straight.fx, straight.fy, straight.cx - low[0], straight.cy - low[1]])
        places = np.moveaxis(np.nan_to_num(at - low - 0.5, nan=-2.0)[..., ::-1], -1, 0)
        return Lens(k, (int(size[1]), int(size[0])), np.ascontiguousarray(places))

    def bend(self, images: "Tensor", *, is_smooth: bool = True) -> "Tensor":
        """What the camera makes of pinhole images (b, h, w, c); black beyond them. Ids and depth are not smooth."""
        if self.places is None:
            return images
        import torch

        at = 2.0 * np.moveaxis(self.places, 0, -1) / (np.array(self.shape) - 1.0) - 1.0
        grid = torch.as_tensor(at[..., ::-1].copy(), dtype=torch.float32, device=images.device)
        bent = torch.nn.functional.grid_sample(
            images.permute(0, 3, 1, 2).float(), grid.expand(len(images), -1, -1, -1),
            mode="bilinear" if is_smooth else "nearest", padding_mode="zeros", align_corners=True,
        )  # fmt: skip
        return bent.permute(0, 2, 3, 1)
