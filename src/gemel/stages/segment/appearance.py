"""What colours a thing has: a smoothed histogram over brightness and two colour differences, learnt from all views.

Colour differences are divided more finely than brightness: things of one material vary in brightness with the light,
and cheap cameras have less noise in colour than in brightness once the video codec has averaged it.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Shaped, UInt8

_SHAPE = (26, 64, 64)
"""Bins of brightness (10 grey levels each), red minus green and green minus blue (4 levels each)."""
_BLUR_BINS = (1.0, 1.0, 1.0)
_FLOOR = 0.02
"""Part of the probability that is spread evenly: colours that were not seen yet are unlikely, not impossible."""
_SHADES = (1.0, 0.85, 0.7, 0.55, 0.4)
_SHADE_PART = 0.02
"""Part of the pixels of a lit surface that count as seen in each shade."""
UNIFORM = -float(np.log(26.0 * 40.0 * 40.0))
"""Log probability of a bin for things that nothing is known about: even over the colours that occur in pictures."""
BIN_VOLUME = 160.0
"""Grey levels cubed per bin: 10 x 4 x 4 in a space whose axes have unit Jacobian with RGB."""


@dataclass(frozen=True, eq=False)
class Colours:
    """Log probability of each colour bin."""

    log_p: Float[np.ndarray, " bin"]

    def __call__(self, bins: Int[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
        """Log probability of pixels given by `colour_bins`."""
        return self.log_p[bins]


def colour_bins(image: UInt8[np.ndarray, "*n 3"]) -> Int[np.ndarray, "*n"]:
    """The histogram bin of each pixel."""
    red, green, blue = (image[..., k].astype(np.int32) for k in range(3))
    light = np.minimum((red + green + blue) // 30, _SHAPE[0] - 1)
    warm = np.clip((red - green + 128) // 4, 0, _SHAPE[1] - 1)
    cool = np.clip((green - blue + 128) // 4, 0, _SHAPE[2] - 1)
    return (light * _SHAPE[1] + warm) * _SHAPE[2] + cool


def colour_counts(
    bins: Int[np.ndarray, " n"], weights: Shaped[np.ndarray, " n"] | None = None
) -> Float[np.ndarray, " bin"]:
    """How much of each colour there is, smoothed over neighbouring bins."""
    from scipy.ndimage import gaussian_filter

    counts = np.bincount(bins, weights=weights, minlength=int(np.prod(_SHAPE))).astype(np.float32)
    return (
        gaussian_filter(counts.reshape(_SHAPE), _BLUR_BINS, mode="nearest", truncate=3.0).reshape(-1).astype(np.float64)
    )


def colours_from_counts(counts: Float[np.ndarray, " bin"], *, floor: float = _FLOOR) -> Colours:
    """A distribution from counts."""
    total = counts.sum()
    p = counts / total if total > 0 else np.full_like(counts, np.exp(UNIFORM))
    return Colours(np.log((1.0 - floor) * p + floor * np.exp(UNIFORM)))


def learn_colours(bins: Int[np.ndarray, " n"], weights: Shaped[np.ndarray, " n"] | None = None) -> Colours:
    """The colours of weighted pixels."""
    return colours_from_counts(colour_counts(bins, weights))


def mixed(one: Colours, other: Colours, part: float) -> Colours:
    """Colours of which a part, below 1, are those of the other."""
    return Colours(np.logaddexp(one.log_p + np.log1p(-part), other.log_p + np.log(part)))


def learn_shaded_colours(pixels: UInt8[np.ndarray, "n 3"]) -> Colours:
    """The colours of a surface, lit as seen and in shadow: darker without change of hue."""
    counts = colour_counts(colour_bins(pixels))
    for shade in _SHADES[1:]:
        darker = (pixels.astype(np.float32) * shade).astype(np.uint8)
        counts = counts + _SHADE_PART * colour_counts(colour_bins(darker))
    return colours_from_counts(counts)


def unmixed(region: Float[np.ndarray, " bin"], rest: Float[np.ndarray, " bin"]) -> Float[np.ndarray, " bin"]:
    """For each colour of a region, the part of it that is not the rest's, 0 to 1.

    The region holds the object and some of the rest. How much of the rest is read off the colours that the rest has
    most and the region least: there, the region has nothing else.
    """
    p, q = region / max(region.sum(), 1e-12), rest / max(rest.sum(), 1e-12)
    order = np.argsort(p / np.maximum(q, 1e-12))
    reached = np.cumsum(q[order])
    at = order[: max(int(np.searchsorted(reached, 0.3)), 1)]
    share = p[at].sum() / max(q[at].sum(), 1e-12)
    return np.clip(1.0 - share * q / np.maximum(p, 1e-12), 0.0, 1.0)
