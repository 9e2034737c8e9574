"""Less noise from few light paths: light is smoothed where surface, distance and colour agree.

Radiance is divided by the surface's colour, which leaves the light that falls on it. That is smooth almost everywhere,
so it is averaged over neighbours that lie on the same surface and are lit alike, and multiplied by the colour again:
textures stay sharp. Edge-avoiding à-trous filter with demodulated colour: Dammertz et al. (2010), Schied et al. (2017).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_REACH = (1, 2, 3)
"""Distance of the taps in each pass [px]."""
_LIGHT_SPREAD, _COLOUR_SPREAD, _DEPTH_SPREAD = 0.25, 0.12, 0.03
"""How different neighbours may be: logarithm of light, colour, relative distance."""
_DARKEST = 0.03
_STRAY = 2.0
"""A pixel this much brighter than all but two of the nine around it is one unlikely light path, not light."""
_TAPS = (-1, 0, 1)


@dataclass(frozen=True, eq=False)
class Rendering:
    """What comes out of the renderer for one instant."""

    radiance: Float[np.ndarray, "h w 3"]
    features: Float[np.ndarray, "h w 4"]
    """Colour of the surface (3) and its distance [m] (1)."""

    def __add__(self, other: "Rendering") -> "Rendering":
        return Rendering(self.radiance + other.radiance, self.features + other.features)

    def weighted(self, rows: Float[np.ndarray, " h"]) -> "Rendering":
        """Every row times its own weight."""
        return Rendering(rows[:, None, None] * self.radiance, rows[:, None, None] * self.features)


def denoised(rendering: Rendering) -> Float[np.ndarray, "h w 3"]:
    """Linear radiance with less noise."""
    colour = rendering.features[..., :3] + _DARKEST
    guide = _guide(rendering.features)
    light = _without_strays((rendering.radiance / colour).astype(np.float32))
    brightness = _smoothed(np.log(light.mean(axis=-1) + 0.02))
    for reach in _REACH:
        light = _pass(light, guide, brightness / _LIGHT_SPREAD, reach)
        brightness = np.log(light.mean(axis=-1) + 0.02)
    return np.asarray(light * colour, dtype=np.float64)


def _without_strays(light: Float[np.ndarray, "h w 3"]) -> Float[np.ndarray, "h w 3"]:
    """Single pixels that outshine their surroundings are dimmed; highlights, which are wider, stay."""
    brightness = light.mean(axis=-1)
    third = np.partition(_neighbours(brightness), -3, axis=0)[-3]
    return np.asarray(light * np.minimum(1.0, _STRAY * third / np.maximum(brightness, 1e-6))[..., None])


def _guide(features: Float[np.ndarray, "h w 4"]) -> Float[np.ndarray, "h w 4"]:
    """Features in units of how much neighbours may differ."""
    depth = features[..., 3:]
    parts = [features[..., :3] / _COLOUR_SPREAD, depth / (_DEPTH_SPREAD * (depth + 0.1))]
    return np.concatenate(parts, axis=-1).astype(np.float32)


def _pass(light: np.ndarray, guide: np.ndarray, brightness: np.ndarray, reach: int) -> np.ndarray:
    """One weighted average over 3 x 3 taps; the picture is continued by its border."""
    margin = reach
    wide = [np.pad(array, ((margin, margin), (margin, margin), (0, 0)), mode="edge") for array in (light, guide)]
    wide_brightness = np.pad(brightness, margin, mode="edge")
    height, width = brightness.shape
    total, weight_sum = np.zeros_like(light), np.zeros(light.shape[:2], dtype=np.float32)
    for dy in _TAPS:
        for dx in _TAPS:
            rows = slice(margin + dy * reach, margin + dy * reach + height)
            columns = slice(margin + dx * reach, margin + dx * reach + width)
            apart = guide - wide[1][rows, columns]
            darker = brightness - wide_brightness[rows, columns]
            weight = np.exp(-np.einsum("hwc,hwc->hw", apart, apart) - darker**2 - (dx * dx + dy * dy) / 6.0)
            total += weight[..., None] * wide[0][rows, columns]
            weight_sum += weight
    return total / weight_sum[..., None]


def _smoothed(values: Float[np.ndarray, "h w"]) -> Float[np.ndarray, "h w"]:
    """Mean over 3 x 3 pixels: single noisy pixels must not count as edges of light."""
    return np.asarray(_neighbours(values).mean(axis=0))


def _neighbours(values: Float[np.ndarray, "h w"]) -> Float[np.ndarray, "9 h w"]:
    """Every pixel's 3 x 3 surroundings; the picture is mirrored at its border."""
    wide = np.pad(values, 1, mode="reflect")
    height, width = values.shape
    return np.stack([wide[i : i + height, j : j + width] for i in range(3) for j in range(3)])
