"""The renderer's protocol: a batch of cameras and a set of Gaussians in, images out, gradients to every input.

Conventions, the same for every back end:
- camera axes x right, y down, z forward; `Ts_camera_world` maps world to camera; pixel centres lie at +0.5;
- a Gaussian's footprint is its EWA projection plus `dilation_px2` on the diagonal (low-pass filter). With
  `is_antialiased` its opacity is multiplied by sqrt(det before / det after), so that small splats fade, not grow;
- alpha = min(0.999, opacity exp(-d^2/2)), nothing below 1/255; front to back by depth of the means, ties by index;
  a pixel stops before the splat that would bring its transmittance to 1e-4 or less;
- `depth` is the expected depth (weighted mean of z, in metres), zero where nothing was hit;
- Gaussians nearer than `near_m` are not drawn.

Torch is imported only when something is rendered: `import gemel` stays light.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gemel.errors import ConfigError, MissingExtraError, choices_text

if TYPE_CHECKING:
    from torch import Tensor
else:
    Tensor = Any


@dataclass(frozen=True)
class RenderRequest:
    """What to draw and from where; n Gaussians, c cameras, all tensors on one device and of one float type.

    Either `quats` and `scales`, or `covariances`. Checked by `checks.check_request` before anything is drawn.
    """

    means: Tensor
    """Centres in the world [m], (n, 3)."""
    opacities: Tensor
    """0 to 1, (n,)."""
    sh: Tensor
    """Spherical-harmonics colours, (n, k, 3) with k = 1, 4, 9 or 16; rgb = max(0, 1/2 + sum Y_k c_k)."""
    Ts_camera_world: Tensor
    """Rigid world-to-camera transforms, (c, 4, 4)."""
    intrinsics: Tensor
    """fx, fy, cx, cy [px], (c, 4)."""
    width: int
    """Image width [px]."""
    height: int
    """Image height [px]."""
    quats: Tensor | None = None
    """Rotations wxyz, any length; the zero quaternion counts as the identity, (n, 4)."""
    scales: Tensor | None = None
    """Standard deviations along the rotated axes [m], (n, 3)."""
    covariances: Tensor | None = None
    """Full covariances in the world [m^2], of which the symmetric part counts, (n, 3, 3)."""
    extras: Tensor | None = None
    """Any further channels to blend, such as object id or normal, (n, e)."""
    dilation_px2: float = 0.3
    """Low-pass filter added to the projected covariances [px^2]; stored with the asset."""
    is_antialiased: bool = False
    """Whether opacities make up for the low-pass filter."""
    near_m: float = 0.01
    """Nearest depth that is drawn [m]."""


@dataclass(frozen=True)
class Rendering:
    """Images of c cameras, h rows, w columns."""

    colour: Tensor
    """(c, h, w, 3), blended over black."""
    alpha: Tensor
    """Coverage 0 to 1, (c, h, w)."""
    depth: Tensor
    """Expected depth [m], zero where nothing was hit, (c, h, w)."""
    extras: Tensor
    """Blended extra channels, (c, h, w, e)."""


@runtime_checkable
class Renderer(Protocol):
    """Draws Gaussians. Implementations: RendererReference, RendererCpu, RendererCuda."""

    @property
    def name(self) -> str:
        """`reference`, `cpu` or `cuda`."""
        ...

    def render(self, request: RenderRequest) -> Rendering:
        """Draw; the result is differentiable with respect to every tensor of the request."""
        ...


BACKENDS = ("cuda", "cpu", "reference")


def usable_backends() -> dict[str, str]:
    """For each back end "" if it can be used here, else one sentence why not. `gemel doctor` prints this."""
    return {name: _obstacle(name) for name in BACKENDS}


def _obstacle(name: str) -> str:
    import importlib.util

    needed = {"cuda": ("torch", "gsplat"), "cpu": ("torch", "numba"), "reference": ("torch",)}[name]
    missing = [package for package in needed if importlib.util.find_spec(package) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    if name == "cuda":
        import torch

        if not torch.cuda.is_available():
            return "torch sees no CUDA device"
    return ""


def make_renderer(name: str = "auto", *, threads: int = 0) -> Renderer:
    """The named back end; "auto" is cuda if usable, else cpu, and never anything else.

    `threads` are those of cpu; 0 means all cores.
    """
    if name == "auto":
        name = "cuda" if not _obstacle("cuda") else "cpu"
    if name not in BACKENDS:
        raise ConfigError(f"Renderer {choices_text(name, ('auto', *BACKENDS))}", remedy="use one of the choices")
    _require(name)
    if name == "cuda":
        from gemel.services.render.cuda import RendererCuda

        return RendererCuda()
    if name == "cpu":
        from gemel.services.render.cpu import RendererCpu

        return RendererCpu(threads or None)
    from gemel.services.render.reference import RendererReference

    return RendererReference()


def _require(name: str) -> None:
    obstacle = _obstacle(name)
    if obstacle.startswith("not installed: "):
        extra = "cuda" if name == "cuda" else "fit"
        raise MissingExtraError(
            obstacle.removeprefix("not installed: "), extra=extra, needed_for=f"The {name} renderer"
        )
    if obstacle:
        raise ConfigError(
            f"The {name} renderer cannot be used here: {obstacle}.",
            remedy="use make_renderer('cpu'), or run `gemel doctor` on a machine with an NVIDIA GPU",
        )
