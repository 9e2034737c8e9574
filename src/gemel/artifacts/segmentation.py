"""Which pixels belong to which object, how sure that is, and who said so."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import BlobRef


@dataclass(frozen=True, eq=False)
class MaskTrack:
    """The masks of one object in one camera over one episode."""

    episode: str
    camera: str
    object: str
    masks: BlobRef
    """Bit-packed masks, one per frame that was segmented."""
    steps: tuple[int, ...]
    confidence: Float[np.ndarray, " frame"]
    """Per frame, 0 to 1."""
    prompt: str
    """The text, point or box that made the masks."""


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Masks of every object that was prompted for."""

    tracks: tuple[MaskTrack, ...]
    backend: str
    """Which segmenter made them, with its version."""
    settings: Mapping[str, float]
