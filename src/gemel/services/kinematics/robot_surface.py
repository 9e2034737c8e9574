"""The whole robot as one surface that its links carry along."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gemel.services.kinematics.link_meshes import LinkMesh


@dataclass(frozen=True, eq=False)
class RobotSurface:
    """All links as one mesh whose vertices know their link."""

    vertices: Float[np.ndarray, "v 3"]
    """Each in its link's frame [m]."""
    faces: Int[np.ndarray, "f 3"]
    link_from_vertex: Int[np.ndarray, " v"]

    @staticmethod
    def of(meshes: tuple[LinkMesh, ...]) -> "RobotSurface":
        """The surface of some links."""
        starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
        return RobotSurface(
            np.concatenate([mesh.vertices for mesh in meshes]),
            np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)]),
            np.concatenate([np.full(len(mesh.vertices), mesh.link) for mesh in meshes]),
        )

    def in_world(self, Ts_world_link: Float[np.ndarray, "link 4 4"]) -> Float[np.ndarray, "v 3"]:
        """Vertices in the world [m]."""
        T = Ts_world_link[self.link_from_vertex]
        return np.einsum("vij,vj->vi", T[:, :3, :3], self.vertices) + T[:, :3, 3]
