"""Dichotomous segmentation with an ONNX file that the user gives: the salient thing of each image.

Input and output as ISNet was trained (Qin and others, Highly Accurate Dichotomous Image Segmentation, ECCV 2022, with
its inference code): RGB at the model's size, 1024 x 1024 unless the file says otherwise, divided by 255, mean 0.5 taken
off, standard deviation 1; the first output is scaled to 0..1 by its own extremes. A prompt chooses between its parts.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import MissingExtraError, SourceError
from gemel.stages.segment.guess import Guess, Wanted, key_of
from gemel.stages.segment.placed import Placed
from gemel.stages.segment.prompt_region import prompted_regions
from gemel.stages.segment.trial_views import largest_part
from gemel.stages.segment.view import View

_SIZE = 1024


class IsnetSegmenter:
    """Runs the file on every view."""

    def __init__(self, model: str, *, full_width: dict[str, int]) -> None:
        self._session = _open(Path(model))
        self._full_width = full_width
        shape = self._session.get_inputs()[0].shape
        self._size = tuple(n if isinstance(n, int) and n > 0 else _SIZE for n in shape[2:4])

    def __call__(self, views: list[View], wanted: Wanted, on_progress: Callable[[float], None]) -> list[Guess]:
        """The salient thing of each view, without the robot; at a prompted frame, its part under the prompt."""
        regions = prompted_regions(views, wanted, self._full_width)
        guesses = []
        for i, view in enumerate(views):
            if key_of(view) in wanted.painted:
                guesses.append(Guess(wanted.painted[key_of(view)], 1.0))
            else:
                guesses.append(_guess(self.saliency(view.image), view, regions.get(i)))
            on_progress((i + 1) / len(views))
        return guesses

    def saliency(self, image: np.ndarray) -> Float[np.ndarray, "h w"]:
        """How much each pixel belongs to the thing, 0 to 1."""
        import cv2

        height, width = self._size
        scaled = cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR).astype(np.float32) / 255.0 - 0.5
        (name,) = (entry.name for entry in self._session.get_inputs())
        output = np.asarray(self._session.run(None, {name: scaled.transpose(2, 0, 1)[None]})[0], dtype=np.float32)
        plane = output.reshape(-1, *output.shape[-2:])[0]
        low, high = float(plane.min()), float(plane.max())
        plane = (plane - low) / max(high - low, 1e-8)
        return cv2.resize(plane, (image.shape[1], image.shape[0]), interpolation=cv2.INTER_LINEAR).astype(np.float64)


def _guess(saliency: Float[np.ndarray, "h w"], view: View, region: np.ndarray | None) -> Guess:
    mask = (saliency > 0.5) & ~Placed(view, None).on_robot
    if region is not None:
        mask = mask & region if (mask & region).any() else region
    mask = largest_part(mask)
    sure = float(np.abs(2.0 * saliency[mask] - 1.0).mean()) if mask.any() else 0.0
    return Guess(mask, sure)


def _open(path: Path) -> Any:
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise MissingExtraError("onnxruntime", extra="isnet", needed_for="Segmenting with an ONNX file") from None
    if not path.is_file():
        raise SourceError(f"There is no ONNX file at {path}.", remedy="give its path as [segment] model")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common base for what a bad file raises
        raise SourceError(
            f"{path} cannot be run: {str(error).splitlines()[0]}", remedy="export the model again"
        ) from error
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 4:
        raise SourceError(
            f"{path} takes {[list(entry.shape) for entry in inputs]}; one image (1, 3, height, width) was expected.",
            remedy="give an ISNet-like model with one image as input",
        )
    return session
