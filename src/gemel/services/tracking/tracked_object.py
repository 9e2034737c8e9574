"""An object as the tracker draws it: its Gaussians in its own frame, seen by cameras that move round it.

Only the cameras' poses change from one drawing to the next, so nothing is placed again. This file's whole point is
torch, so it imports torch at module level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - what the renderer draws
from jaxtyping import Float, Float32
from torch import Tensor  # noqa: TID253

from gemel.artifacts.splatmesh import SplatMesh
from gemel.services.render.cloud import STILL, part_of_mesh
from gemel.services.render.renderer import Renderer, Rendering, RenderRequest
from gemel.services.render.spherical_harmonics import C0
from gemel.services.tracking.facing import facing_groups

_PALETTE = 12
GROUPS = 8
"""Parts of the surface that light falls on alike."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """One object as one camera would see it, over nothing."""

    colour: Float32[np.ndarray, "h w 3"]
    """Times coverage."""
    coverage: Float32[np.ndarray, "h w"]
    depth: Float32[np.ndarray, "h w"]
    """[m], zero where nothing is."""
    groups: Float32[np.ndarray, "h w group"]
    """Share of each group of faces that look one way, times coverage."""


class TrackedObject:
    """Tensors of one SplatMesh, ready to be drawn."""

    def __init__(self, mesh: SplatMesh) -> None:
        part = part_of_mesh(mesh, STILL, "cpu")
        self.mesh = mesh
        self.radius_m = float(np.linalg.norm(mesh.vertices, axis=1).max())
        self._means, self._covariances, self._opacities = part.means, part.covariances, part.opacities
        self._sh = ((part.colours - 0.5) / C0)[:, None]
        group = facing_groups(mesh.vertices, mesh.faces, count=GROUPS)[mesh.face_from_gaussian]
        self._groups = torch.nn.functional.one_hot(torch.as_tensor(group), GROUPS).float()
        colours = chromaticity(part.colours.double().numpy())
        self.palette: Float[np.ndarray, "colour 2"] = np.quantile(colours, np.linspace(0.05, 0.95, _PALETTE), axis=0)
        """Typical chromaticities of it."""

    def render(
        self, Ts_camera_object: Tensor, intrinsics: Tensor, shape: tuple[int, int], *, renderer: Renderer
    ) -> Rendering:
        """Drawn by cameras (c, 4, 4), (c, 4) of one size, differentiable in where they are."""
        return renderer.render(
            RenderRequest(
                means=self._means,
                covariances=self._covariances,
                opacities=self._opacities,
                sh=self._sh,
                extras=self._groups,
                Ts_camera_world=Ts_camera_object,
                intrinsics=intrinsics,
                width=shape[1],
                height=shape[0],
                dilation_px2=self.mesh.dilation_px2,
            )
        )

    def draw(
        self,
        Ts_camera_object: Float[np.ndarray, "c 4 4"],
        intrinsics: Float[np.ndarray, "c 4"],
        shapes: Sequence[tuple[int, int]],
        *,
        renderer: Renderer,
    ) -> list[Drawing]:
        """As each camera sees it; cameras of one size are drawn in one pass."""
        drawings: dict[int, Drawing] = {}
        for shape in dict.fromkeys(shapes):
            rows = [c for c, other in enumerate(shapes) if other == shape]
            with torch.no_grad():
                images = self.render(
                    torch.tensor(Ts_camera_object[rows], dtype=torch.float32),
                    torch.tensor(intrinsics[rows], dtype=torch.float32),
                    shape,
                    renderer=renderer,
                )
            layers = [layer.numpy() for layer in (images.colour, images.alpha, images.depth, images.extras)]
            drawings |= {c: Drawing(*(layer[i] for layer in layers)) for i, c in enumerate(rows)}
        return [drawings[c] for c in range(len(shapes))]


def chromaticity(colours: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n 2"]:
    """Red and green as parts of the whole."""
    return np.asarray(colours[..., :2] / np.maximum(colours.sum(axis=-1, keepdims=True), 1e-3))
