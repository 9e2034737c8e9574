"""From radiance to the numbers of a cheap camera: vignetting, shot and read noise, sRGB, eight bits."""

import numpy as np
from jaxtyping import Float, UInt8

from gemel.worlds.imperfections import Imperfections

_EXPOSURE = 1.5
"""Pixel value of a white sheet under the lamp, relative to the sensor's white."""


def develop(
    radiance: Float[np.ndarray, "h w 3"], imperfections: Imperfections, rng: np.random.Generator
) -> UInt8[np.ndarray, "h w 3"]:
    """The picture that the camera sends."""
    light = _EXPOSURE * radiance * _vignette(radiance.shape[:2], imperfections.vignetting)[..., None]
    noise = rng.standard_normal(light.shape)
    sigma = np.sqrt(imperfections.shot_noise**2 * np.clip(light, 0.0, 1.0) + imperfections.read_noise**2)
    return (255.0 * srgb(light + sigma * noise) + 0.5).astype(np.uint8)


def srgb(linear: Float[np.ndarray, "h w 3"]) -> Float[np.ndarray, "h w 3"]:
    """IEC 61966-2-1 encoding of linear values, clipped to 0..1."""
    linear = np.clip(linear, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1.0 / 2.4) - 0.055)


def _vignette(shape: tuple[int, ...], loss: float) -> Float[np.ndarray, "h w"]:
    """One in the middle, 1 - loss in the corners, falling with the square of the distance."""
    y, x = (np.linspace(-1.0, 1.0, n) for n in shape)
    return 1.0 - 0.5 * loss * (x[None, :] ** 2 + y[:, None] ** 2)
