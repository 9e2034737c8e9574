"""One fitted object with the views that it was fitted to."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.splatmesh import SplatMesh
from gemel.stages.reconstruct.object_views import ObjectViews


@dataclass(frozen=True, eq=False)
class FittedObject:
    """One object in the world frame, and the views that it was fitted to."""

    mesh: SplatMesh
    views: ObjectViews
    gains: tuple[tuple[float, float, float], ...]
    """Colour gain of each camera."""
    offsets: tuple[tuple[float, float, float], ...]
    lights: Float[np.ndarray, "fitted 3"]
    """Light of each fitted view (light.py)."""

    def response(self, camera: str) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Gain and offset of a camera's colours."""
        names = tuple(dict.fromkeys(self.views.fitted.camera_names))
        if camera not in names:
            return (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)
        return self.gains[names.index(camera)], self.offsets[names.index(camera)]
