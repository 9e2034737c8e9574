"""Whether Gaussians that were read back are the ones that were written."""

import numpy as np

from gemel.artifacts.gaussians import Gaussians


def same_gaussians(ours: Gaussians, theirs: Gaussians) -> bool:
    """Whether all fields are equal, as float32."""
    fields = ("means", "rotations", "scales", "opacities", "sh")
    pairs = [(getattr(ours, field), getattr(theirs, field)) for field in fields]
    pairs += [(ours.extras[name], theirs.extras.get(name, np.zeros(0))) for name in ours.extras]
    return (
        all(np.array_equal(a.astype(np.float32), b) for a, b in pairs)
        and ours.dilation_px2 == theirs.dilation_px2
        and ours.is_antialiased == theirs.is_antialiased
    )
