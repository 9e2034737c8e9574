"""The CPU back end: numba kernels behind a thin torch adapter.

This file's whole point is to join torch and the kernels, so it imports torch at module level.
"""

from typing import Any

import numpy as np
import torch  # noqa: TID253 - the adapter between torch and the kernels
from torch import Tensor  # noqa: TID253

from gemel.errors import ConfigError
from gemel.services.render import cpu_layout as at
from gemel.services.render.checks import check_request
from gemel.services.render.cpu_cameras import camera_gradients, pack_cameras
from gemel.services.render.cpu_frame import differentiate, draw
from gemel.services.render.cpu_layout import Images, Inputs, Outputs, Sizes
from gemel.services.render.cpu_threads import usable_cores
from gemel.services.render.cpu_workspace import Shelf
from gemel.services.render.renderer import Rendering, RenderRequest


class RendererCpu:
    """Tile-based renderer for processors; keeps its buffers between calls, safe to use from several threads."""

    name = "cpu"

    def __init__(self, thread_count: int | None = None) -> None:
        """`thread_count`: workers side by side; by default all cores that this process may use."""
        self.thread_count = usable_cores() if thread_count is None else thread_count
        if self.thread_count < 1:
            raise ConfigError(f"thread_count is {thread_count}: expected at least 1.", remedy="leave it out")
        self._shelf = Shelf()

    def render(self, request: RenderRequest) -> Rendering:
        """Draw every camera of the request in one pass."""
        check_request(request)
        if request.means.dtype != torch.float32 or request.means.device.type != "cpu":
            raise ConfigError(
                f"The cpu renderer got {request.means.dtype} on {request.means.device}: expected float32 on cpu.",
                remedy="convert the tensors with .float().cpu(), or use the reference for float64",
            )
        images = _Draw.apply(
            self, request, request.means, request.quats, request.scales, request.covariances, request.opacities,
            request.sh, request.extras, request.Ts_camera_world, request.intrinsics,
        )  # fmt: skip
        return Rendering(*images)


def _flat(tensor: Tensor | None) -> np.ndarray:
    """The tensor's memory as a flat array, copied only if it is not contiguous."""
    if tensor is None:
        return np.zeros(0, dtype=np.float32)
    flat: np.ndarray = tensor.detach().contiguous().numpy().reshape(-1)
    return flat


def _sizes(request: RenderRequest, workers: int) -> Sizes:
    extras = 0 if request.extras is None else int(request.extras.shape[1])
    return Sizes(
        gaussians=len(request.means),
        cameras=len(request.intrinsics),
        coefficients=int(request.sh.shape[1]),
        extras=extras,
        width=request.width,
        height=request.height,
        tiles_x=-(-request.width // at.TILE_WIDTH),
        tiles_y=-(-request.height // at.TILE_HEIGHT),
        slot=at.MOMENTS + extras,
        workers=workers,
        has_covariances=int(request.covariances is not None),
        is_antialiased=int(request.is_antialiased),
    )


def _inputs(request: RenderRequest, cameras: np.ndarray) -> Inputs:
    return Inputs(
        means=_flat(request.means),
        quats=_flat(request.quats),
        scales=_flat(request.scales),
        covariances=_flat(request.covariances),
        opacities=_flat(request.opacities),
        sh=_flat(request.sh),
        extras=_flat(request.extras),
        cameras=cameras.reshape(-1),
        dilation_px2=float(request.dilation_px2),
        near_m=float(request.near_m),
    )


class _Draw(torch.autograd.Function):
    """Forward and backward of one call; what is not a tensor travels on the context."""

    @staticmethod
    def forward(ctx: Any, renderer: RendererCpu, request: RenderRequest, *tensors: Tensor | None) -> tuple[Tensor, ...]:
        sizes = _sizes(request, renderer.thread_count)
        shape = (sizes.cameras, sizes.height, sizes.width)
        results = (
            torch.empty((*shape, 3)), torch.empty(shape), torch.empty(shape), torch.empty((*shape, sizes.extras)),
        )  # fmt: skip
        if sizes.gaussians == 0 or sizes.cameras == 0:
            ctx.frame, ctx.request = None, request
            return tuple(result.zero_() for result in results)
        poses, intrinsics = request.Ts_camera_world.detach().numpy(), request.intrinsics.detach().numpy()
        cameras = pack_cameras(poses, intrinsics, request.width, request.height)
        images = Images(*(_flat(result) for result in results))
        ctx.frame = draw(sizes, _inputs(request, cameras), images, renderer._shelf.borrow())
        ctx.request = request
        return results

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        request, frame = ctx.request, ctx.frame
        names = ("means", "quats", "scales", "covariances", "opacities", "sh", "extras")
        given = {name: getattr(request, name) for name in names}
        if frame is None:
            cameras = (torch.zeros_like(request.Ts_camera_world), torch.zeros_like(request.intrinsics))
            return (None, None, *(None if t is None else torch.zeros_like(t) for t in given.values()), *cameras)
        results = {name: None if t is None else torch.empty(t.shape) for name, t in given.items()}
        outputs = Outputs(**{name: _flat(result) for name, result in results.items()})
        sums = differentiate(frame, Images(*(_flat(g) for g in gradients)), outputs)
        d_poses, d_intrinsics = camera_gradients(
            sums, request.Ts_camera_world.detach().numpy(), request.intrinsics.detach().numpy()
        )
        return (None, None, *results.values(), torch.from_numpy(d_poses), torch.from_numpy(d_intrinsics))
