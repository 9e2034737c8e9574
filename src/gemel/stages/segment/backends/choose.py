"""The segmenter that the settings name; each is imported only when it is used."""

import importlib.util
from collections.abc import Callable

import numpy as np

from gemel.artifacts.episode import Frames
from gemel.artifacts.split import FitData
from gemel.errors import MissingExtraError
from gemel.stages.segment.config import SegmentConfig
from gemel.stages.segment.guess import FrameKey, Segmenter

MaskFile = Callable[[str, FrameKey], np.ndarray | None]
"""The mask (height, width), 0 is not object, that the user keeps for an object in a frame; None without one."""


def make_segmenter(
    config: SegmentConfig, fit: FitData, frames: Frames, *, model: str, mask_file: MaskFile
) -> Segmenter:
    """The segmenter of the settings; `model` is where its weights are."""
    if importlib.util.find_spec("cv2") is None:
        raise MissingExtraError("opencv-python-headless", extra="segment", needed_for="Making masks")
    widths = {camera.name: camera.width for camera in fit.cameras}
    if config.backend == "file":
        from gemel.stages.segment.backends.file import FileSegmenter

        return FileSegmenter(frames, mask_file)
    if config.backend == "isnet":
        from gemel.stages.segment.backends.isnet import IsnetSegmenter

        return IsnetSegmenter(model, full_width=widths)
    if config.backend == "sam":
        from gemel.stages.segment.backends.sam import SamSegmenter

        return SamSegmenter(model, full_width=widths)
    from gemel.stages.segment.backends.classical import ClassicalSegmenter

    return ClassicalSegmenter(table_height_m=config.table_height_m, full_width=widths)
