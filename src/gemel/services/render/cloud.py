"""All Gaussians of a scene in one set, those on links moved with them, so that one pass draws everything.

This file's whole point is torch, so it imports torch at module level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - tensors that the renderer draws
from jaxtyping import Float
from torch import Tensor  # noqa: TID253

from gemel.artifacts.gaussians import Gaussians
from gemel.artifacts.splatmesh import SplatMesh
from gemel.services.render.renderer import Renderer, RenderRequest
from gemel.services.render.spherical_harmonics import C0
from gemel.services.render.splatmesh import Binding, place

STILL = -1
"""Link of Gaussians that stand still in the world."""


@dataclass(frozen=True)
class Part:
    """Gaussians in the frame of one link, or in the world."""

    link: int
    means: Tensor
    covariances: Tensor
    opacities: Tensor
    colours: Tensor
    """RGB 0 to 1, the same from all sides, (n, 3)."""


def part_of_mesh(mesh: SplatMesh, link: int, device: str) -> Part:
    """The Gaussians of a mesh."""
    binding = Binding(
        faces=torch.tensor(mesh.faces, dtype=torch.int64),
        face_from_gaussian=torch.tensor(mesh.face_from_gaussian, dtype=torch.int64),
        barycentric=torch.tensor(mesh.barycentric, dtype=torch.float64),
        normal_scale_m=mesh.normal_scale_m,
    )
    scale = torch.tensor(mesh.in_plane_scale, dtype=torch.float64)
    means, covariances = place(torch.tensor(mesh.vertices, dtype=torch.float64), binding, scale)
    return _part(link, means, covariances, mesh.opacity, mesh.sh, device)


def part_of_gaussians(gaussians: Gaussians, device: str) -> Part:
    """Free Gaussians that stand still."""
    from gemel.geometry import SO3

    axes = SO3(gaussians.rotations.astype(np.float64)).as_matrix() * gaussians.scales[:, None]
    covariances = torch.as_tensor(axes @ np.swapaxes(axes, 1, 2))
    return _part(STILL, torch.tensor(gaussians.means), covariances, gaussians.opacities, gaussians.sh, device)


def _part(link: int, means: Tensor, covariances: Tensor, opacity: np.ndarray, sh: np.ndarray, device: str) -> Part:
    def tensor(values: "Tensor | np.ndarray") -> Tensor:
        owned = torch.tensor(values) if isinstance(values, np.ndarray) else values  # stored arrays are read-only
        return owned.to(device=device, dtype=torch.float32)

    return Part(link, tensor(means), tensor(covariances), tensor(opacity), tensor(0.5 + C0 * sh[:, 0]))


class Cloud:
    """Parts of a scene, ready to be drawn wherever links and camera are."""

    def __init__(self, parts: Sequence[Part], *, dilation_px2: float) -> None:
        """`dilation_px2` is the low-pass filter that all parts were fitted with."""
        self._dilation_px2 = dilation_px2
        parts = sorted(parts, key=lambda part: part.link == STILL)  # stable: links first
        self.order = tuple(parts)
        self.colours = torch.cat([part.colours for part in parts])
        self._opacities = torch.cat([part.opacities for part in parts])
        self._links = [part for part in parts if part.link != STILL]
        self._still_means = torch.cat([part.means for part in parts if part.link == STILL])
        self._still_covariances = torch.cat([part.covariances for part in parts if part.link == STILL])

    def draw(
        self,
        Ts_world_link: Float[np.ndarray, "link 4 4"],
        T_camera_world: Float[np.ndarray, "4 4"],
        intrinsics: Float[np.ndarray, "4"],
        shape: tuple[int, int],
        colours: Tensor,
        *,
        renderer: Renderer,
    ) -> Tensor:
        """(h, w, 3) as the first camera would see it from there, with `colours` (n, 3) in the order of the parts."""
        device = colours.device
        means, covariances = [], []
        for part in self._links:
            T = torch.as_tensor(Ts_world_link[part.link], dtype=torch.float32, device=device)
            means.append(part.means @ T[:3, :3].T + T[:3, 3])
            covariances.append(T[:3, :3] @ part.covariances @ T[:3, :3].T)
        images = renderer.render(
            RenderRequest(
                means=torch.cat([*means, self._still_means]),
                covariances=torch.cat([*covariances, self._still_covariances]),
                opacities=self._opacities,
                sh=((colours - 0.5) / C0)[:, None],
                Ts_camera_world=torch.as_tensor(T_camera_world[None], dtype=torch.float32, device=device),
                intrinsics=torch.as_tensor(intrinsics[None], dtype=torch.float32, device=device),
                width=shape[1],
                height=shape[0],
                dilation_px2=self._dilation_px2,
            )
        )
        return images.colour[0]
