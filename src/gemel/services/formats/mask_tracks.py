"""Reading the masks of a segmentation: those that can be trusted, by object, episode, camera and step."""

from functools import lru_cache

import numpy as np
from jaxtyping import Bool

from gemel.artifacts.blob import BlobRef, Blobs
from gemel.artifacts.segmentation import Segmentation
from gemel.geometry.bitmask import unpack_masks


class MaskReader:
    """Looks masks up; the last few blobs stay unpacked."""

    def __init__(self, segmentation: Segmentation, blobs: Blobs) -> None:
        least = segmentation.settings.get("min_confidence", 0.0)
        self._place = {
            (track.object, track.episode, track.camera, step): (track.masks, row)
            for track in segmentation.tracks
            for row, step in enumerate(track.steps)
            if track.confidence[row] >= least
        }
        self._unpacked = lru_cache(maxsize=4)(lambda ref: unpack_masks(blobs.get_bytes(ref)))
        self.objects = tuple(dict.fromkeys(track.object for track in segmentation.tracks))

    def __call__(self, name: str, episode: str, camera: str, step: int) -> Bool[np.ndarray, "h w"] | None:
        """The mask of a frame, or None where there is none or it is not sure enough."""
        place = self._place.get((name, episode, camera, step))
        if place is None:
            return None
        ref: BlobRef = place[0]
        return np.asarray(self._unpacked(ref)[place[1]])
