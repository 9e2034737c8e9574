"""Frames that carry their own number, as large grey blocks that survive any codec."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gemel.services.formats.video import VideoWriter

WIDTH, HEIGHT, _BLOCK = 64, 48, 16
_DARK, _BRIGHT = 40, 215


def coded_frame(number: int) -> np.ndarray:
    """A 64x48 frame of twelve blocks, one per bit of `number`."""
    bits = (number >> np.arange(12)) & 1
    levels = np.where(bits, _BRIGHT, _DARK).astype(np.uint8).reshape(HEIGHT // _BLOCK, WIDTH // _BLOCK)
    grey = levels.repeat(_BLOCK, axis=0).repeat(_BLOCK, axis=1)
    return np.stack([grey] * 3, axis=-1)


def coded_frames(first: int, count: int) -> Iterator[np.ndarray]:
    """Frames with consecutive numbers."""
    return (coded_frame(number) for number in range(first, first + count))


def number_of(image: np.ndarray) -> int:
    """The number that a decoded frame carries."""
    grey = image.astype(np.float64).mean(axis=2)
    blocks = grey.reshape(HEIGHT // _BLOCK, _BLOCK, WIDTH // _BLOCK, _BLOCK).mean(axis=(1, 3))
    return int(((blocks.ravel() > 128) << np.arange(12)).sum())


def write_coded_video(path: Path, times_s: np.ndarray, *, codec: str = "h264", fps: float = 20.0) -> Path:
    """A video whose frame at `times_s[i]` carries the number i."""
    writer = VideoWriter(path, width=WIDTH, height=HEIGHT, fps=fps, codec=codec)
    for number, time_s in enumerate(times_s):
        writer.add(coded_frame(number), float(time_s), is_first=number == 0)
    writer.close()
    return path
