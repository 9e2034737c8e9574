"""The contact pieces of an assembled object, read back."""

import numpy as np
from jaxtyping import Float

from gemel.artifacts.blob import Blobs
from gemel.artifacts.twin import Twin


def corners_of(twin: Twin, blobs: Blobs, name: str) -> Float[np.ndarray, "_ 3"]:
    """Corners of all pieces of an object, in its frame [m]."""
    return np.concatenate([np.asarray(blobs.get_table(piece)["vertices"]) for piece in twin.colliders[name]])
