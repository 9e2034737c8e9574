"""Real frames beside what the twin shows at the same moment, and their difference."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.outputs.pictures.font import labelled
from gemel.outputs.pictures.sheet import Picture, as_picture, magnification, sheet

_GAIN = 3.0
"""Differences are shown this many times stronger."""


@dataclass(frozen=True, eq=False)
class TwinFrame:
    """One real frame and the twin's."""

    label: str
    """Episode, camera and time, for people."""
    real: Float[np.ndarray, "h w 3"]
    """0 to 1."""
    twin: Float[np.ndarray, "h w 3"]
    psnr_db: float
    ssim: float


def side_by_side(frames: Sequence[TwinFrame]) -> Picture:
    """Real, twin and difference of each frame: red where the twin is brighter, blue where it is darker."""
    pictures = []
    for frame in frames:
        n = magnification(frame.real.shape[1], wanted=320)
        brighter = _GAIN * (frame.twin - frame.real).mean(axis=-1)
        red, blue = np.clip(brighter, 0.0, 1.0), np.clip(-brighter, 0.0, 1.0)
        difference = np.stack([red, 0.25 * (red + blue), blue], axis=-1)
        score = f"{frame.psnr_db:.1f} dB ssim {frame.ssim:.2f}"  # longer text would be smaller
        for text, image in ((f"{frame.label} real", frame.real), ("twin", frame.twin), (score, difference)):
            pictures.append(labelled(as_picture(image, size=n), text))
    return sheet(pictures, columns=3)
