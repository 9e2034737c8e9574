"""What cameras would see without the objects: plates of cameras that stand still, drawings for all others.

A plate is the median over frames of trials in which neither robot nor any object is at a pixel. It is sharp, and it
holds nothing of the scan's shadows, which are baked into the reconstructed table.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32

from gemel.artifacts.reconstruction import Reconstruction
from gemel.services.kinematics.link_meshes import link_meshes
from gemel.services.kinematics.robot_surface import RobotSurface
from gemel.services.kinematics.tree import KinematicTree
from gemel.services.render.mesh_raster import rasterise
from gemel.services.render.renderer import Renderer

Image = Float32[np.ndarray, "h w 3"]
_LEAST_FREE = 3
"""In how many frames a pixel has to be free for its plate to be known."""
_NEAR_M = 0.02


class Scenery:
    """Robot, table and background of a reconstruction, seen by any camera."""

    def __init__(
        self, reconstruction: Reconstruction, model: Any, tree: KinematicTree | None, renderer: Renderer
    ) -> None:
        """`model` is the compiled robot (`mujoco.MjModel`), or None without one."""
        from gemel.services.render.cloud import STILL, Cloud, part_of_gaussians, part_of_mesh

        self._renderer = renderer
        self._surface = RobotSurface.of(link_meshes(model)) if model is not None else None
        parts = [] if tree is None else [part_of_mesh(m, tree.link(n), "cpu") for n, m in reconstruction.links.items()]
        if reconstruction.table is not None:
            parts.append(part_of_mesh(reconstruction.table, STILL, "cpu"))
        if reconstruction.background is not None:
            parts.append(part_of_gaussians(reconstruction.background, "cpu"))
        dilation_px2 = 0.0 if reconstruction.table is None else reconstruction.table.dilation_px2
        self._cloud = Cloud(parts, dilation_px2=dilation_px2) if parts else None

    def draw(
        self,
        Ts_world_link: Float[np.ndarray, "link 4 4"],
        T_camera_world: Float[np.ndarray, "4 4"],
        intrinsics: Float[np.ndarray, "4"],
        shape: tuple[int, int],
    ) -> Image:
        """Robot, table and background; grey where nothing is known."""
        import torch

        if self._cloud is None:
            return np.full((*shape, 3), 0.5, dtype=np.float32)
        with torch.no_grad():
            image = self._cloud.draw(
                Ts_world_link, T_camera_world, intrinsics, shape, self._cloud.colours, renderer=self._renderer
            )
        return np.asarray(image.numpy())

    def robot_depth(
        self,
        Ts_world_link: Float[np.ndarray, "link 4 4"],
        T_camera_world: Float[np.ndarray, "4 4"],
        intrinsics: Float[np.ndarray, "4"],
        shape: tuple[int, int],
    ) -> Float[np.ndarray, "h w"]:
        """Distance of the robot along z [m]; infinite where it is not."""
        if self._surface is None:
            return np.full(shape, np.inf)
        T = T_camera_world
        p_camera = self._surface.in_world(Ts_world_link) @ T[:3, :3].T + T[:3, 3]
        return rasterise(p_camera, self._surface.faces, intrinsics, shape[1], shape[0], near_m=_NEAR_M)[0]


def plate(images: Sequence[Image], is_free: "Sequence[Bool[np.ndarray, 'h w']]", drawn: Image) -> Image:
    """The median of each pixel over the frames in which it is free; as drawn where there are too few."""
    free = np.stack(is_free)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # pixels that are never free have no median
        median = np.nanmedian(np.where(free[..., None], np.stack(images), np.nan), axis=0)
    return np.where((free.sum(axis=0) >= _LEAST_FREE)[..., None], median, drawn).astype(np.float32)
