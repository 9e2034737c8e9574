"""The Gaussians of a SplatMesh in numpy alone, for files: export works without torch.

`splatmesh.py` says how Gaussians sit on faces and has the same placement with derivatives; a test holds them equal.
"""

import numpy as np

from gemel.artifacts.gaussians import Gaussians
from gemel.artifacts.splatmesh import SplatMesh
from gemel.geometry.so3 import SO3

AXIS_1 = (np.sqrt(1.0 / 18.0), -np.sqrt(1.0 / 72.0))
"""First column of chol(Q): parts of e1 and e2 in the first axis."""
AXIS_2 = np.sqrt(1.0 / 24.0)
"""Part of e2 in the second axis."""


def gaussians_of(mesh: SplatMesh) -> Gaussians:
    """The asset's Gaussians in its own frame, for drawing, placing and writing to files."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces[mesh.face_from_gaussian]], 1, 0)
    e1, e2 = b - a, c - a
    means = a + mesh.barycentric[:, 1:2] * e1 + mesh.barycentric[:, 2:3] * e2
    u1 = mesh.in_plane_scale[:, :1] * (AXIS_1[0] * e1 + AXIS_1[1] * e2)
    u2 = AXIS_2 * mesh.in_plane_scale[:, 1:2] * e2
    if mesh.in_plane_scale.shape[1] == 3:
        u1 = u1 + AXIS_2 * mesh.in_plane_scale[:, 2:] * e2
    covariances = u1[:, :, None] * u1[:, None, :] + u2[:, :, None] * u2[:, None, :]
    variances, axes = np.linalg.eigh(covariances + mesh.normal_scale_m**2 * np.eye(3))
    axes[:, :, 0] *= np.sign(np.linalg.det(axes))[:, None]
    return Gaussians(
        means=means.astype(np.float32),
        rotations=SO3.from_matrix(axes).wxyz.astype(np.float32),
        scales=np.sqrt(np.maximum(variances, 0.0)).astype(np.float32),
        opacities=mesh.opacity.astype(np.float32),
        sh=mesh.sh.astype(np.float32),
        dilation_px2=mesh.dilation_px2,
    )
