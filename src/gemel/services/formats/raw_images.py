"""Frames of a log before it is a capture, for inspection: decoded by seeking, one at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from gemel.services.formats.image_file import read_image
from gemel.services.formats.paths import inside
from gemel.services.formats.source import RawImages, RawVideo
from gemel.services.formats.video import VideoReader


def raw_images(
    root: Path, stream: RawVideo | RawImages, times_s: Float[np.ndarray, " t"], steps: Sequence[int]
) -> Iterator[tuple[int, UInt8[np.ndarray, "h w 3"]]]:
    """(step, its frame) of the given steps, in order; steps without an image are left out."""
    if isinstance(stream, RawImages):
        for step in steps:
            if stream.paths[step]:
                yield step, read_image(inside(root, stream.paths[step]))
        return
    with VideoReader(inside(root, stream.path)) as reader:
        for step in steps:
            yield step, reader.frame_at(stream.from_s + float(times_s[step]))
