"""The user's masks: a folder OBJECT/EPISODE/CAMERA/STEP.png, else the masks that the log itself brings."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool

from gemel.artifacts.episode import Frames
from gemel.errors import SourceError
from gemel.stages.segment.guess import FrameKey, Guess, Wanted, key_of
from gemel.stages.segment.view import View

MaskFile = Callable[[str, FrameKey], np.ndarray | None]
_WHITE = 127


class FileSegmenter:
    """Hands out masks that exist."""

    def __init__(self, frames: Frames, mask_file: MaskFile) -> None:
        self._frames = frames
        self._mask_file = mask_file

    def __call__(self, views: list[View], wanted: Wanted, on_progress: Callable[[float], None]) -> list[Guess]:
        """The mask of each view; a view without one gets an empty mask that nothing relies on."""
        guesses = []
        for n, view in enumerate(views):
            guesses.append(self._guess(view, wanted))
            on_progress((n + 1) / len(views))
        if not any(guess.confidence > 0 for guess in guesses):
            raise SourceError(
                f"There is no mask of {wanted.name!r}: neither in the folder of [segment] masks nor in the log.",
                remedy="name files OBJECT/EPISODE/CAMERA/STEP.png, give mask_path in the log, or use another backend",
            )
        return guesses

    def _guess(self, view: View, wanted: Wanted) -> Guess:
        if key_of(view) in wanted.painted:
            return Guess(wanted.painted[key_of(view)], 1.0)
        found = self._mask_file(wanted.name, key_of(view))
        if found is None:
            found = self._frames.mask(*key_of(view))
        if found is None:
            return Guess(np.zeros(view.size, dtype=bool), 0.0)
        return Guess(_fitted(found > _WHITE, view), 1.0)


def _fitted(mask: Bool[np.ndarray, "h w"], view: View) -> Bool[np.ndarray, "h2 w2"]:
    """The mask at the view's size; one of another shape is not of this image."""
    height, width = view.size
    if abs(mask.shape[1] * height - mask.shape[0] * width) > max(mask.shape):
        raise SourceError(
            f"The mask of episode {view.episode}, camera {view.camera}, step {view.step} has {mask.shape[1]} x "
            f"{mask.shape[0]} pixels, its image {width} x {height}.",
            remedy="give masks of the images' own size",
        )
    if mask.shape == view.size:
        return mask
    import cv2

    return np.asarray(cv2.resize(mask.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA) > 0.5)
