"""Whether a triangle mesh bounds a solid, in words: one judgement for everyone who needs volume, inertia or contact."""

import numpy as np
from jaxtyping import Float, Int

from gemel.geometry.mesh import bounds, is_watertight, is_winding_consistent, volume

MOST_FACES = 200_000
"""Past this, contact shapes take minutes, textures give a face less than a few pixels, and viewers slow down."""
_LEAST_FILL = 1e-9
"""Smallest part of its bounding cube that a solid may fill."""
_LEAST_M = 1e-5
"""Nothing smaller is an object on a table; hulls of it drown in rounding."""
_AGAIN = "reconstruct the object again, or give a closed model of it"


def solid_complaint(vertices: Float[np.ndarray, "v 3"], faces: Int[np.ndarray, "f 3"]) -> tuple[str, str]:
    """What is wrong with a mesh as a solid and what to do, both empty where nothing is; takes well under a second."""
    if len(faces) > MOST_FACES:
        return f"it has {len(faces)} faces, at most {MOST_FACES} are taken", "simplify the model of the object"
    if not len(faces) or not np.isfinite(vertices).all():
        return "it has no faces, or vertices that are not finite", _AGAIN
    if not is_watertight(vertices, faces):
        return "it has holes: some edges do not belong to exactly two faces", _AGAIN
    if not is_winding_consistent(vertices, faces):
        return "neighbouring faces are wound in opposite directions", "make all faces look outwards"
    return _volume_complaint(vertices, faces)


def _volume_complaint(vertices: Float[np.ndarray, "v 3"], faces: Int[np.ndarray, "f 3"]) -> tuple[str, str]:
    enclosed, size = volume(vertices, faces), float(np.ptp(bounds(vertices, faces), axis=0).max())
    if size < _LEAST_M:
        return f"its longest side is {size:.3g} m", "check its unit: lengths are metres"
    if abs(enclosed) <= _LEAST_FILL * size**3:
        return f"it encloses {enclosed:.3g} m³, which is no volume", _AGAIN
    if enclosed < 0.0:
        return f"its faces look inwards: the signed volume is {enclosed:.3g} m³", "turn all faces over"
    return "", ""
