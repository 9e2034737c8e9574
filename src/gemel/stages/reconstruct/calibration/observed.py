"""What residuals are made of: rows of a linearised measurement, and images that can be sampled with their slope."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

_BAND = 3.0
"""Structure coarser than this many times the finest scale is light and shadow, not texture."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Measurements linearised about one value of the unknowns: residual(theta + d) = residual + J d."""

    residual: Float[np.ndarray, " m"]
    J: Float[np.ndarray, "m p"]
    weight: Float[np.ndarray, " m"]
    """Robust weight over variance."""
    view: Int[np.ndarray, " m"]
    sigma: float
    """Robust standard deviation of the residuals, in their own unit."""
    kind: str
    """`table` [m] or `outline` [px]."""


def tukey_weight(residual: Float[np.ndarray, " m"], sigma: float, *, cut: float = 4.0) -> Float[np.ndarray, " m"]:
    """Tukey's biweight: near one for small residuals, zero beyond `cut` standard deviations."""
    share = residual / (cut * sigma)
    return np.where(np.abs(share) < 1.0, (1.0 - share**2) ** 2, 0.0)


def robust_sigma(residual: Float[np.ndarray, " m"], *, least: float) -> float:
    """Standard deviation of the well-behaved part: 1.4826 times the median absolute residual."""
    return max(1.4826 * float(np.median(np.abs(residual))), least) if len(residual) else least


@dataclass(frozen=True, eq=False)
class SmoothImage:
    """A grey image smoothed to a scale, where it can be trusted."""

    value: Float[np.ndarray, "h w"]
    slope: Float[np.ndarray, "h w 2"]
    """d value / d x and d y [1/px]."""
    is_valid: Bool[np.ndarray, "h w"]

    @staticmethod
    def of(grey: Float[np.ndarray, "h w"], is_valid: Bool[np.ndarray, "h w"], sigma_px: float) -> "SmoothImage":
        """Normalised convolution: pixels that are not valid lend nothing to their neighbours."""
        from scipy.ndimage import gaussian_filter

        def smooth(scale_px: float) -> tuple[np.ndarray, np.ndarray]:
            share = gaussian_filter(is_valid.astype(np.float32), scale_px, mode="nearest")
            value = gaussian_filter(np.where(is_valid, grey, 0.0).astype(np.float32), scale_px, mode="nearest")
            return value / np.maximum(share, 1e-6), share

        fine, share = smooth(sigma_px)
        value = fine - smooth(_BAND * sigma_px)[0]
        slope = np.stack(np.gradient(value)[::-1], axis=-1)
        return SmoothImage(value.astype(np.float64), slope.astype(np.float64), is_valid & (share > 0.7))

    def sample(
        self, pixels: Float[np.ndarray, "n 2"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n 2"], Bool[np.ndarray, " n"]]:
        """Value, slope and validity at pixel positions (centres at +0.5), bilinear."""
        height, width = self.value.shape
        x, y = pixels[:, 0] - 0.5, pixels[:, 1] - 0.5
        is_inside = (x >= 0.0) & (y >= 0.0) & (x <= width - 1.001) & (y <= height - 1.001)
        x, y = np.where(is_inside, x, 0.0), np.where(is_inside, y, 0.0)
        left, top = x.astype(np.int64), y.astype(np.int64)
        fx, fy = x - left, y - top
        corners = [(top, left, (1 - fx) * (1 - fy)), (top, left + 1, fx * (1 - fy)),
                   (top + 1, left, (1 - fx) * fy), (top + 1, left + 1, fx * fy)]  # fmt: skip
        value = sum(self.value[i, j] * w for i, j, w in corners)
        slope = sum(self.slope[i, j] * w[:, None] for i, j, w in corners)
        is_valid = is_inside.copy()
        for i, j, _ in corners:
            is_valid &= self.is_valid[i, j]
        return np.asarray(value), np.asarray(slope), is_valid


def pixel_rows(
    direction: Float[np.ndarray, "n 2"],
    p_camera: Float[np.ndarray, "n 3"],
    intrinsics: Float[np.ndarray, "4"],
) -> tuple[Float[np.ndarray, "n 6"], Float[np.ndarray, " n"]]:
    """Motion of pixels along `direction`: per unit of the camera's left twist, and of the logarithm of its focal."""
    fx, fy = intrinsics[:2]
    X, Y, Z = p_camera.T
    g = np.stack(
        [direction[:, 0] * fx / Z, direction[:, 1] * fy / Z,
         -(direction[:, 0] * fx * X + direction[:, 1] * fy * Y) / Z**2], axis=-1,
    )  # fmt: skip
    by_focal = direction[:, 0] * fx * X / Z + direction[:, 1] * fy * Y / Z
    return np.concatenate([g, np.cross(p_camera, g)], axis=-1), by_focal
