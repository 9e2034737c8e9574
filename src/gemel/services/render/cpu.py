"""The CPU back end: numba kernels behind a thin torch adapter.

This file's whole point is to join torch and the kernels, so it imports torch at module level.
"""

# mypy: disallow-subclassing-any=false

from typing import Any

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
from gemel.services.render.simd_memory import address


class RendererCpu:
    """Tile-based renderer for processors; keeps its buffers between calls, safe to use from several threads."""

    name = "cpu"

    def __init__(self, thread_count: int | None = None) -> None:
        """`thread_count`: workers side by side; by default all cores that this process may use."""
        self.thread_count = usable_cores() if thread_count is None else thread_count
        if self.thread_count < 1:
            raise ConfigError(f"thread_count is {thread_count}: expected at least 1.", remedy="leave it out")
        self.shelf = Shelf()

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


NAMES = ("means", "quats", "scales", "covariances", "opacities", "sh", "extras")
"""The per-Gaussian tensors, in the order of _Draw's arguments."""


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


def _addresses(tensors: tuple[Tensor | None, ...]) -> list[int]:
    return [0 if tensor is None else tensor.data_ptr() for tensor in tensors]


class _Draw(torch.autograd.Function):
    """Forward and backward of one call; what is not a tensor travels on the context.

    The frame holds addresses of the inputs and images, so the context keeps those tensors alive (saved by autograd,
    which also notices when somebody changes them in place before the backward pass).
    """

    @staticmethod
    def forward(ctx: Any, renderer: RendererCpu, request: RenderRequest, *tensors: Tensor | None) -> tuple[Tensor, ...]:
        sizes = _sizes(request, renderer.thread_count)
        shape = (sizes.cameras, sizes.height, sizes.width)
        results = (
            torch.empty((*shape, 3)), torch.empty(shape), torch.empty(shape), torch.empty((*shape, sizes.extras)),
        )  # fmt: skip
        held = tuple(None if tensor is None else tensor.contiguous() for tensor in tensors)
        ctx.frame, ctx.has_gaussians = None, sizes.gaussians > 0 and sizes.cameras > 0
        if ctx.has_gaussians:
            poses, intrinsics = held[-2].numpy(), held[-1].numpy()  # type: ignore[union-attr]
            ctx.cameras = pack_cameras(poses, intrinsics, request.width, request.height)
            settings = (address(ctx.cameras), float(request.dilation_px2), float(request.near_m))
            inputs = Inputs._make((*_addresses(held[:-2]), *settings))
            ctx.frame = draw(sizes, inputs, Images(*_addresses(results)), renderer.shelf.borrow())
        else:
            for result in results:
                result.zero_()
        ctx.save_for_backward(*held, *results)
        ctx.set_materialize_grads(False)
        return results

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        held = ctx.saved_tensors[: len(NAMES) + 2]
        if not ctx.has_gaussians:
            return (None, None, *(None if tensor is None else torch.zeros_like(tensor) for tensor in held))
        results = tuple(None if tensor is None else torch.empty_like(tensor) for tensor in held[: len(NAMES)])
        solid = tuple(None if gradient is None else gradient.contiguous() for gradient in gradients)
        sums = differentiate(ctx.frame, Images(*_addresses(solid)), Outputs(*_addresses(results)))
        poses, intrinsics = camera_gradients(sums, held[-2].numpy(), held[-1].numpy())
        return (None, None, *results, torch.from_numpy(poses), torch.from_numpy(intrinsics))
