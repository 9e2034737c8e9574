"""How each camera turns light into numbers: a gain and an offset for each channel, against the first camera."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

_ROUNDS = 3
_LEAST_POINTS = 50
_LARGEST_GAIN = 2.0
_SHRINK = 0.02
"""Weight of the prior gain 1, offset 0 against the colours' variance: a plain table cannot tell gain from offset."""


@dataclass(frozen=True, eq=False)
class Responses:
    """Colours of camera c are gain[c] * colour + offset[c], colours as the first camera sees them."""

    gains: Float[np.ndarray, "camera 3"]
    offsets: Float[np.ndarray, "camera 3"]

    @staticmethod
    def alike(count: int) -> "Responses":
        """All cameras as the first."""
        return Responses(np.ones((count, 3)), np.zeros((count, 3)))

    def seen_by(self, camera: int, colour: Float32[np.ndarray, "h w 3"]) -> Float32[np.ndarray, "h w 3"]:
        """What a camera makes of colours."""
        return np.clip(self.gains[camera] * colour + self.offsets[camera], 0.0, 1.0).astype(np.float32)


def fit_responses(
    colours: Float[np.ndarray, "camera n 3"], is_seen: Bool[np.ndarray, "camera n"], counts: Int[np.ndarray, " camera"]
) -> Responses:
    """From what each camera saw of the same n points, by straight lines against the mean of the others so far.

    `counts` says how many views of a camera stand behind its colours.
    """
    count = len(colours)
    found = Responses.alike(count)
    for _ in range(_ROUNDS):
        plain = (colours - found.offsets[:, None]) / found.gains[:, None]
        weight = (is_seen * np.sqrt(counts)[:, None])[..., None]
        common = np.sum(weight * plain, axis=0) / np.maximum(weight.sum(axis=0), 1e-9)
        shared = is_seen & (is_seen.sum(axis=0) >= 2)
        gains, offsets = np.ones((count, 3)), np.zeros((count, 3))
        for c in range(count):
            if shared[c].sum() >= _LEAST_POINTS:
                gains[c], offsets[c] = _line(common[shared[c]], colours[c][shared[c]])
        found = _relative_to_first(gains, offsets)
    return found


def _line(x: Float[np.ndarray, "n 3"], y: Float[np.ndarray, "n 3"]) -> tuple[np.ndarray, np.ndarray]:
    """Gain and offset of y against x in each channel; points far from the line count less."""
    gain, offset = np.ones(3), np.median(y - x, axis=0)
    for _ in range(5):
        error = y - gain * x - offset
        scale = np.maximum(1.4826 * np.median(np.abs(error), axis=0), 1e-3)
        weight = 1.0 / (1.0 + (error / (2.0 * scale)) ** 2)
        weight /= weight.sum(axis=0)
        mean_x, mean_y = np.sum(weight * x, axis=0), np.sum(weight * y, axis=0)
        dx, dy = x - mean_x, y - mean_y
        # The prior gain is the ratio of means: more light, not more haze.
        variance, prior = np.sum(weight * dx * dx, axis=0), _SHRINK * mean_x**2
        gain = (np.sum(weight * dx * dy, axis=0) + prior * mean_y / mean_x) / (variance + prior)
        gain = np.clip(gain, 1.0 / _LARGEST_GAIN, _LARGEST_GAIN)
        offset = mean_y - gain * mean_x
    return gain, offset


def _relative_to_first(gains: np.ndarray, offsets: np.ndarray) -> Responses:
    """The same responses with the first camera as the gauge."""
    return Responses(gains / gains[0], offsets - gains / gains[0] * offsets[0])
