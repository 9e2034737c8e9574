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


def posed(parts: Sequence[Part], Ts_world_link: Tensor) -> tuple[Tensor, Tensor]:
    """Means (b, n, 3) and covariances (b, n, 3, 3) of all parts in the world, links being at (b, link, 4, 4)."""
    scenes, count = len(Ts_world_link), sum(len(part.means) for part in parts)
    means, covariances = Ts_world_link.new_empty(scenes, count, 3), Ts_world_link.new_empty(scenes, count, 3, 3)
    first = 0
    for part in parts:
        own = slice(first, first + len(part.means))
        if part.link == STILL:
            means[:, own], covariances[:, own] = part.means, part.covariances
        else:
            R, t = Ts_world_link[:, part.link, :3, :3], Ts_world_link[:, part.link, None, :3, 3]
            means[:, own] = torch.baddbmm(t, part.means.expand(scenes, -1, -1), R.mT)
            covariances[:, own] = R[:, None] @ part.covariances @ R.mT[:, None]
        first = own.stop
    return means, covariances


class Cloud:
    """Parts of a scene, ready to be drawn wherever links and camera are."""

    def __init__(self, parts: Sequence[Part], *, dilation_px2: float) -> None:
        """`dilation_px2` is the low-pass filter that all parts were fitted with."""
        self._dilation_px2 = dilation_px2
        self._parts = tuple(parts)
        self.colours = torch.cat([part.colours for part in parts])
        self._opacities = torch.cat([part.opacities for part in parts])

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
        (means,), (covariances,) = posed(
            self._parts, torch.as_tensor(Ts_world_link[None], dtype=torch.float32, device=device)
        )
        images = renderer.render(
            RenderRequest(
                means=means,
                covariances=covariances,
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
