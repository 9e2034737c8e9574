"""Which pixels show the robot: as the model predicts them, and as the images themselves show them.

A fixed camera sees the robot wherever it differs from the scene without it; the scene without it is the median over
the frames in which the robot, as predicted and widened, is elsewhere.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32

from gemel.services.kinematics.robot_surface import RobotSurface
from gemel.services.render.mesh_raster import NOTHING, rasterise
from gemel.stages.reconstruct.calibration.contours import Indicator
from gemel.stages.reconstruct.calibration.robot_rig import Poses

Image = Float32[np.ndarray, "h w 3"]
_LEAST_FREE = 3
"""In how many frames a pixel has to be free of the robot for its background to be known."""
_LEAST_CONTRAST = 0.06
"""Smallest step of brightness from robot to background that counts as an edge; sensor noise is a fifth of it."""
GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)
"""Weights of ITU-R BT.601."""


@dataclass(frozen=True, eq=False)
class Background:
    """What a fixed camera sees without the robot."""

    image: Image
    is_known: Bool[np.ndarray, "h w"]


def robot_mask(
    surface: RobotSurface, poses: Poses, v: int, shape: tuple[int, int], *, margin_px: int
) -> Bool[np.ndarray, "h w"]:
    """Pixels of view v that the robot covers, widened by a margin."""
    from scipy.ndimage import binary_dilation

    T = poses.Ts_camera_world[v]
    p_camera = surface.in_world(poses.Ts_world_link[v]) @ T[:3, :3].T + T[:3, 3]
    face = rasterise(p_camera, surface.faces, poses.intrinsics[v], shape[1], shape[0], near_m=0.03)[1]
    return np.asarray(binary_dilation(face != NOTHING, iterations=margin_px)) if margin_px else face != NOTHING


def background_of(images: Sequence[Image], robots: Sequence[Bool[np.ndarray, "h w"]]) -> Background:
    """The scene of a fixed camera without the robot."""
    is_free = ~np.stack(robots)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # pixels that are never free have no median
        image = np.nanmedian(np.where(is_free[..., None], np.stack(images), np.nan), axis=0)
    return Background(np.nan_to_num(image).astype(np.float32), is_free.sum(axis=0) >= min(_LEAST_FREE, len(images)))


def indicator_of(image: Image, background: Background) -> Indicator:
    """How much a frame differs from the scene without the robot."""
    from scipy.ndimage import gaussian_filter

    difference: Float[np.ndarray, "h w"] = np.abs(image - background.image).mean(axis=-1).astype(np.float64)
    return Indicator(gaussian_filter(difference, 0.5), background.is_known, _LEAST_CONTRAST)
