"""Turns the addresses that Python hands over into the pointers that kernels use."""

from typing import Any

import numpy as np

from gemel.services.render.cpu_compile import part
from gemel.services.render.cpu_layout import Images, Inputs, Lists, Outputs, Scene
from gemel.services.render.simd_memory import floats, integers, unsigned


@part
def open_inputs(at: Any) -> Any:
    """Pointers of the inputs; dilation and near plane as float32."""
    return Inputs(
        floats(at.means), floats(at.quats), floats(at.scales), floats(at.covariances), floats(at.opacities),
        floats(at.sh), floats(at.extras), floats(at.cameras), np.float32(at.dilation_px2), np.float32(at.near_m),
    )  # fmt: skip


@part
def open_lists(at: Any) -> Any:
    """Pointers of the tile lists."""
    return Lists(
        floats(at.records), integers(at.rects), integers(at.slot_starts), integers(at.tile_starts),
        integers(at.entries), integers(at.tile_order), integers(at.visible), unsigned(at.keys),
        integers(at.histograms), unsigned(at.depth_bits),
    )  # fmt: skip


@part
def open_images(at: Any) -> Any:
    """Pointers of the images or of their gradients."""
    return Images(floats(at.colour), floats(at.alpha), floats(at.depth), floats(at.extras))


@part
def open_outputs(at: Any) -> Any:
    """Pointers of the Gaussians' gradients."""
    return Outputs(
        floats(at.means), floats(at.quats), floats(at.scales), floats(at.covariances), floats(at.opacities),
        floats(at.sh), floats(at.extras),
    )  # fmt: skip


@part
def open_scene(at: Any) -> Any:
    """Sizes as they are, inputs and lists with pointers."""
    return Scene(at.sizes, open_inputs(at.inputs), open_lists(at.lists))
