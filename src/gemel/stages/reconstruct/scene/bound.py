"""A SplatMesh with one Gaussian in the middle of each face, of given colours."""

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.artifacts.splatmesh import SplatMesh
from gemel.services.render.spherical_harmonics import C0

DILATION_PX2 = 0.02
"""Low-pass filter [px²], the same as for objects: they are drawn in one pass."""
OPACITY = 0.98
_THICKNESS = 0.02
"""Thickness of the Gaussians, in mean edges."""


def bound_mesh(
    vertices: Float[np.ndarray, "v 3"],
    faces: Int[np.ndarray, "f 3"],
    colours: Float[np.ndarray, "f 3"],
    is_face_seen: Bool[np.ndarray, " f"],
    scale: float,
) -> SplatMesh:
    """`scale` is relative to each face's second moment; a vertex is seen if one of its faces is."""
    is_seen = np.zeros(len(vertices), dtype=bool)
    is_seen[faces[is_face_seen].ravel()] = True
    sides = vertices[faces] - vertices[np.roll(faces, 1, axis=1)]
    return SplatMesh(
        vertices=vertices,
        faces=faces,
        is_seen=is_seen,
        face_from_gaussian=np.arange(len(faces)),
        barycentric=np.full((len(faces), 3), 1.0 / 3.0),
        in_plane_scale=np.full((len(faces), 2), scale),
        normal_scale_m=_THICKNESS * float(np.linalg.norm(sides, axis=-1).mean()),
        sh=((np.clip(colours, 0.0, 1.0) - 0.5) / C0)[:, None].astype(np.float32),
        opacity=np.full(len(faces), OPACITY),
        dilation_px2=DILATION_PX2,
    )
