"""SplatMesh: one representation with the mesh that physics needs and the Gaussians that look real.

After Splatting Physical Scenes (arXiv 2506.04120): Gaussians sit on the faces of a triangle mesh and move with them.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from gemel.errors import ConfigError


@dataclass(frozen=True, eq=False)
class SplatMesh:
    """A triangle mesh in its own frame with flat Gaussians bound to its faces; objects and robot links alike."""

    vertices: Float[np.ndarray, "vertex 3"]
    """[m], in the object's frame."""
    faces: Int[np.ndarray, "face 3"]
    """Vertex indices, outward winding."""
    is_seen: Bool[np.ndarray, " vertex"]
    """False where no camera saw the surface: that part is invented."""
    face_from_gaussian: Int[np.ndarray, " gaussian"]
    """The face that each Gaussian sits on."""
    barycentric: Float[np.ndarray, "gaussian 3"]
    """Weights of the face's corners; they sum to one."""
    in_plane_scale: Float[np.ndarray, "gaussian axis"]
    """Along the two axes of the face's own second moment, relative to it; a third column, where there is one, is the
    part of the second axis in the first: such Gaussians are turned in their plane."""
    normal_scale_m: float
    """Thickness of every Gaussian along the face normal [m]."""
    sh: Float[np.ndarray, "gaussian coefficient 3"]
    """Spherical-harmonics colour."""
    opacity: Float[np.ndarray, " gaussian"]
    dilation_px2: float
    """Low-pass variance that the Gaussians were fitted with [px²]; rendering with another one looks wrong."""

    def __post_init__(self) -> None:
        if self.faces.size and not 0 <= self.faces.min() <= self.faces.max() < len(self.vertices):
            raise ConfigError(
                f"SplatMesh faces refer to vertices {self.faces.min()}..{self.faces.max()}, "
                f"but there are {len(self.vertices)}.",
                remedy="build faces with indices into `vertices`",
            )
        if self.in_plane_scale.shape[1] not in (2, 3):
            raise ConfigError(
                f"SplatMesh in_plane_scale has {self.in_plane_scale.shape[1]} columns.",
                remedy="give two scales for each Gaussian, and a third number if they are turned in their plane",
            )
        if not np.allclose(self.barycentric.sum(axis=-1), 1.0, atol=1e-6):
            raise ConfigError(
                "SplatMesh barycentric weights do not sum to one.",
                remedy="normalise each row of `barycentric`",
            )
