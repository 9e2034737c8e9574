"""What one view says about an object's pose: the normal equations of its residuals, linear about the pose.

Poses are perturbed by moving the object's origin and turning the object about it, both along the world's axes; so a
perturbation holds translation first [m], then rotation [rad]. `about_origin` and `about_world` go between this and the
left perturbation of the pose.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.geometry.so3 import hat
from gemel.services.tracking.expected import Expected, smoothed
from gemel.services.tracking.view import View

_CUT = 4.0
"""Residuals beyond so many standard deviations count nothing (Tukey's biweight)."""
_LEAST_SIGMA = 0.012
"""Noise of a pixel that is believed in at least, of white."""
_LEAST_SLOPE = 0.02
"""Pixels that change by less for a whole pixel of motion tell nothing."""
_LEAST_PIXELS = 15


@dataclass(frozen=True)
class ErrorModel:
    """How far outlines and texture may be from where a perfect model would put them."""

    image_px: float = 0.25
    """In the image [px]: sampling, blur and light."""
    shape_m: float = 0.7e-3
    """On the object [m]: its reconstructed shape. It weighs down cameras that are close."""
    redundancy: float = 3.0
    """Neighbouring pixels share their errors; so many of them tell as much as one."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """One view's say: cost(d) = cost - gradient d + 1/2 d information d, for a perturbation d of the pose."""

    information: Float[np.ndarray, "6 6"]
    gradient: Float[np.ndarray, "6"]
    sigma: float
    """Robust standard deviation of the residuals, of white."""
    object_px: int
    visible_px: int

    @staticmethod
    def none() -> "Evidence":
        """A view that does not see the object."""
        return Evidence(np.zeros((6, 6)), np.zeros(6), 0.0, 0, 0)

    @property
    def is_any(self) -> bool:
        """Whether the view tells anything."""
        return bool(self.information.any())


def weigh(
    view: View, expected: Expected, T_world_object: Float[np.ndarray, "4 4"], *, blur_px: float, errors: ErrorModel
) -> Evidence:
    """The evidence in one view, looked at through a blur: a wide one finds what is far off."""
    rows, light = _blurred(expected, blur_px), expected.light
    if rows is None:
        return Evidence(np.zeros((6, 6)), np.zeros(6), 0.0, light.object_px, light.visible_px)
    residual, slope_x, slope_y, at = rows
    z = light.depth_m[at].astype(np.float64)
    fx, fy, cx, cy = view.intrinsics
    x = (at[1] + light.cut[1].start + 0.5 - cx) / fx
    y = (at[0] + light.cut[0].start + 0.5 - cy) / fy
    across, down = slope_x * (fx / z)[:, None], slope_y * (fy / z)[:, None]
    by_camera = np.stack([across, down, -(across * x[:, None] + down * y[:, None])], axis=-1)  # (n, channel, 3)
    R = view.T_camera_world[:3, :3]
    by_world = by_camera @ R
    p_camera = np.stack([x * z, y * z, z], axis=-1)
    arm = (p_camera - view.T_camera_world[:3, 3]) @ R - T_world_object[:3, 3]
    J = -np.concatenate([by_world, np.cross(arm[:, None], by_world)], axis=-1)
    sigma = max(1.4826 * float(np.median(np.abs(residual))), _LEAST_SIGMA)
    shift_px = np.hypot(errors.image_px, 0.5 * (fx + fy) * errors.shape_m / float(np.median(z)))
    variance = 0.5 * sigma**2 + (slope_x**2 + slope_y**2) * shift_px**2
    trust = np.maximum(1.0 - residual**2 / (_CUT**2 * variance), 0.0) ** 2 / (variance * errors.redundancy)
    J, weights, values = J.reshape(-1, 6), trust.reshape(-1), residual.reshape(-1)
    weighted = J * weights[:, None]
    return Evidence(weighted.T @ J, weighted.T @ values, sigma, light.object_px, light.visible_px)


def _blurred(
    expected: Expected, blur_px: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, ...]] | None:
    """Residuals and slopes (n, 3) of the pixels that tell something, and where they are."""
    is_used = expected.light.is_used
    used = is_used[..., None].astype(np.float32)
    layers = np.concatenate([expected.residual, expected.slope_x, expected.slope_y], axis=-1) * used
    share = used
    if blur_px > 0.0:
        both = smoothed(np.concatenate([layers, used], axis=-1), blur_px)
        layers, share = both[..., :9] / np.maximum(both[..., 9:], 1e-3), both[..., 9:]
    steep = np.einsum("hwc,hwc->hw", layers[..., 3:], layers[..., 3:])
    at = np.nonzero(is_used & (share[..., 0] > 0.5) & (steep > _LEAST_SLOPE**2))
    if len(at[0]) < _LEAST_PIXELS:
        return None
    chosen = layers[at].astype(np.float64)
    return chosen[:, :3], chosen[:, 3:6], chosen[:, 6:], at


def moved(T_world_object: Float[np.ndarray, "4 4"], step: Float[np.ndarray, "6"]) -> Float[np.ndarray, "4 4"]:
    """The pose after a perturbation."""
    from gemel.geometry import SO3

    T = np.array(T_world_object)
    T[:3, :3] = SO3.exp(step[3:]).as_matrix() @ T[:3, :3]
    T[:3, 3] += step[:3]
    return T


def about_world(p_world_object: Float[np.ndarray, "3"]) -> Float[np.ndarray, "6 6"]:
    """Takes a perturbation about the object's origin to the left perturbation of the pose."""
    A = np.eye(6)
    A[:3, 3:] = hat(p_world_object)
    return A
