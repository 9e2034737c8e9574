"""Refuses a render request that cannot be right, with a sentence that says what to do."""

from itertools import chain
from math import isfinite
from typing import Any

from gemel.errors import ConfigError
from gemel.services.render.renderer import RenderRequest

NAMES = ("means", "quats", "scales", "covariances", "opacities", "sh", "extras")
"""The tensors that have one row per Gaussian."""


def check_request(request: RenderRequest) -> None:
    """Form and cameras; cheap, reads no per-Gaussian values."""
    check_form(request)
    # Cameras are few, so their values are read here, as plain Python numbers.
    check_cameras(request.Ts_camera_world.detach().tolist(), request.intrinsics.detach().tolist())


def check_form(request: RenderRequest) -> None:
    """Shapes, types and settings; reads no values at all."""
    _check_shape_choice(request)
    _check_shapes(request)
    _check_types(request)
    _check_settings(request)


def check_values(request: RenderRequest, sizes: list[float] | None = None) -> None:
    """Refuse NaN and infinity in the per-Gaussian tensors; `sizes`: numbers that are finite if all of them are."""
    if sizes is None:
        tensors = (getattr(request, name) for name in NAMES)
        sizes = [float(tensor.detach().abs().sum()) for tensor in tensors if tensor is not None]
    if all(map(isfinite, sizes)):
        return
    for name in NAMES:
        tensor = getattr(request, name)
        bad = 0 if tensor is None else int((~tensor.isfinite()).sum())
        if bad:
            raise not_finite(name, bad)


def not_finite(name: str, count: int | None = None) -> ConfigError:
    """The error for NaN or infinite parameters."""
    amount = "values that are" if count is None else f"{count} value(s) that are"
    return ConfigError(
        f"{name!r} holds {amount} NaN or infinite; only finite Gaussians can be drawn.",
        remedy="look for the step that produced them (often a learning rate that is too high), or drop those Gaussians",
    )


def _check_shape_choice(request: RenderRequest) -> None:
    has_factors = request.quats is not None and request.scales is not None
    is_partial = (request.quats is None) != (request.scales is None)
    if is_partial or has_factors == (request.covariances is not None):
        given = [n for n in ("quats", "scales", "covariances") if getattr(request, n) is not None]
        raise ConfigError(
            f"The shapes of the Gaussians are given as {given}: expected quats and scales, or covariances.",
            remedy="give exactly one of the two",
        )


def _check_shapes(request: RenderRequest) -> None:
    n, c = _rows(request.means), _rows(request.intrinsics)
    wanted: dict[str, tuple[tuple[int, ...], ...]] = {
        "means": ((n, 3),),
        "opacities": ((n,),),
        "quats": ((n, 4),),
        "scales": ((n, 3),),
        "covariances": ((n, 3, 3),),
        "sh": tuple((n, k, 3) for k in (1, 4, 9, 16)),
        "intrinsics": ((c, 4),),
        "Ts_camera_world": ((c, 4, 4),),
    }
    for name, shapes in wanted.items():
        tensor = getattr(request, name)
        if tensor is not None and tuple(tensor.shape) not in shapes:
            raise _wrong_shape(name, tuple(tensor.shape), " or ".join(str(shape) for shape in shapes), n, c)
    if request.extras is not None and (request.extras.ndim != 2 or request.extras.shape[0] != n):
        raise _wrong_shape("extras", tuple(request.extras.shape), f"({n}, any)", n, c)


def _rows(tensor: Any) -> int:
    return int(tensor.shape[0]) if tensor.ndim else 0


def _wrong_shape(name: str, given: tuple[int, ...], wanted: str, n: int, c: int) -> ConfigError:
    return ConfigError(
        f"{name!r} has shape {given}: expected {wanted} for {n} Gaussians and {c} cameras.",
        remedy="make the lengths agree; one row per Gaussian (or per camera) in every tensor",
    )


def _check_types(request: RenderRequest) -> None:
    for name in (*NAMES, "intrinsics", "Ts_camera_world"):
        tensor = getattr(request, name)
        if tensor is not None and (tensor.dtype, tensor.device) != (
            request.means.dtype,
            request.means.device,
        ):
            raise ConfigError(
                f"{name!r} is {tensor.dtype} on {tensor.device}, means are {request.means.dtype} on"
                f" {request.means.device}: expected one type on one device.",
                remedy="convert with .to(means) before rendering",
            )
    if not request.means.dtype.is_floating_point:
        raise ConfigError(f"means are {request.means.dtype}: expected a float type.", remedy="use float32")


def _check_settings(request: RenderRequest) -> None:
    if request.width < 1 or request.height < 1:
        raise ConfigError(
            f"Image of {request.width}x{request.height} pixels: expected at least 1x1.",
            remedy="give width and height of the images to draw",
        )
    if not (0.0 <= request.dilation_px2 < float("inf")) or not (0.0 < request.near_m < float("inf")):
        raise ConfigError(
            f"dilation_px2 = {request.dilation_px2}, near_m = {request.near_m}: expected dilation >= 0 and near > 0.",
            remedy="use the dilation that is stored with the asset (often 0.3) and a small positive near_m",
        )


def check_cameras(Ts: list[list[list[float]]], intrinsics: list[list[float]]) -> None:
    """Refuse cameras that cannot be: poses (c, 4, 4) and lenses fx, fy, cx, cy (c, 4) as plain numbers."""
    for camera, (T, lens) in enumerate(zip(Ts, intrinsics, strict=True)):
        if not all(map(isfinite, chain(lens, *T))):
            raise ConfigError(
                f"Intrinsics or Ts_camera_world of camera {camera} hold NaN or infinity: expected finite numbers.",
                remedy="look for the step that produced them, often a learning rate that is too high",
            )
        if lens[0] <= 0.0 or lens[1] <= 0.0:
            raise ConfigError(
                f"Camera {camera} has focal lengths fx = {lens[0]:g}, fy = {lens[1]:g} px: expected both above zero.",
                remedy="give the intrinsics as fx, fy, cx, cy in pixels",
            )
        if not _is_rigid(T):
            raise ConfigError(
                f"Ts_camera_world of camera {camera} is not a rigid transform: {T}",
                remedy="give 4x4 matrices that map world to camera: rotation without scale, mirror or shear",
            )


def _is_rigid(T: list[list[float]]) -> bool:
    """Orthonormal rows within 1 %, right-handed, last row 0 0 0 1."""
    x, y, z = T[0][:3], T[1][:3], T[2][:3]
    lengths = all(abs(_dot(a, a) - 1.0) < 1e-2 for a in (x, y, z))
    angles = all(abs(_dot(a, b)) < 1e-2 for a, b in ((x, y), (y, z), (z, x)))
    normal = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    return lengths and angles and _dot(normal, z) > 0.0 and T[3] == [0.0, 0.0, 0.0, 1.0]


def _dot(a: list[float], b: list[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
