"""What a twin's cameras see, and from where.

This file's whole point is torch, so it imports torch at module level.
"""

from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - tensors that the renderer drew
from jaxtyping import Float, Float32, Int
from torch import Tensor  # noqa: TID253

from gemel.services.render.lens import Lens
from gemel.services.render.owners import owners
from gemel.services.render.renderer import Rendering

Pose = Float[np.ndarray, "4 4"]


@dataclass(frozen=True, eq=False)
class Viewpoint:
    """A camera of the twin where it is now."""

    camera: str
    T_camera_world: Pose
    gain: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Multiplies the image, channel by channel: more or other light than in the log."""


@dataclass(frozen=True, eq=False)
class TwinImage:
    """What one camera sees."""

    colour: Float32[np.ndarray, "h w 3"]
    """RGB 0 to 1."""
    depth_m: Float32[np.ndarray, "h w"] | None = None
    """Along z of the camera, not along the ray, of what covers most of each pixel; zero where nothing is [m]."""
    ids: Int[np.ndarray, "h w"] | None = None
    """Index into `TwinView.names` of what covers most of each pixel. Depth and ids are there where asked for."""


@dataclass(frozen=True, eq=False)
class SceneImages:
    """What one camera sees in b scenes, on the renderer's device; the fields are those of `TwinImage`."""

    colour: Tensor
    """(b, h, w, 3), not yet held between 0 and 1."""
    depth_m: Tensor | None
    """(b, h, w)."""
    ids: Tensor | None
    """(b, h, w)."""


def through(lens: Lens | None, images: Rendering, *, has_ids: bool) -> SceneImages:
    """What a lens makes of what was drawn; ids and depth of a pixel are always those of one drawn pixel."""
    colour = images.colour if lens is None else lens.bend(images.colour)
    if not has_ids:
        return SceneImages(colour, None, None)
    ids, depth = owners(images)
    if lens is not None:
        ids, depth = (lens.bend(image[..., None], is_smooth=False)[..., 0] for image in (ids, depth))
    return SceneImages(colour, depth, ids.long())


def as_image(images: SceneImages, gain: tuple[float, float, float]) -> TwinImage:
    """The one scene of a batch, in other light."""
    colour = (images.colour * torch.tensor(gain, device=images.colour.device)).clamp(0.0, 1.0)
    depth, ids = (None if one is None else one[0].cpu().numpy() for one in (images.depth_m, images.ids))
    return TwinImage(colour[0].cpu().numpy(), depth, ids)
