"""What each view asks of the fit, cut to where the object is and prepared once: pictures, weights, masks.

This file's whole point is torch, so it imports torch at module level.
"""

from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - tensors that the loop reads
from torch import Tensor  # noqa: TID253

from gemel.stages.reconstruct.light import light_basis
from gemel.stages.reconstruct.silhouettes import silhouette_distances
from gemel.stages.reconstruct.views import Views

MARGIN_PX = 6
"""Pixels kept round the object's outline."""
FAR_PX = 8.0
"""Beyond this distance from the outline a wrong pixel counts no more than at it."""


@dataclass(frozen=True)
class Target:
    """One view, cut out: h rows and w columns from pixel (left, top) on."""

    left: int
    top: int
    image: Tensor
    """(h, w, 3), 0 to 1."""
    mask: Tensor
    """(h, w), 0 to 1."""
    photo_weight: Tensor
    """(h, w); sums to one over the pixels that surely show the object."""
    outline_weight: Tensor
    """(h, w); grows with the distance from the outline, so that far errors pull harder; zero where ignored."""
    camera: int
    """Index of the camera's colour response."""
    light_basis: Tensor
    """(h, w, 3); what the view's light is made of (light.py)."""
    depth: Tensor | None = None
    """(h, w); logged depth [m]."""
    depth_weight: Tensor | None = None
    """(h, w); sums to one over the pixels that surely show the object and whose depth was measured."""

    @property
    def width(self) -> int:
        """Columns [px]."""
        return int(self.image.shape[1])

    @property
    def height(self) -> int:
        """Rows [px]."""
        return int(self.image.shape[0])


def make_targets(views: Views, *, device: str) -> tuple[Target, ...]:
    """One target per view."""
    names = list(dict.fromkeys(views.camera_names))
    distances = silhouette_distances(views)
    return tuple(
        _target(views, i, distances[i], names.index(views.camera_names[i]), device=device) for i in range(len(views))
    )


def _target(views: Views, i: int, distance: np.ndarray, camera: int, *, device: str) -> Target:
    rows, columns = np.nonzero(views.masks[i] > 0.02)
    if len(rows) == 0:
        rows, columns = np.array([0, views.height - 1]), np.array([0, views.width - 1])
    top, left = max(rows.min() - MARGIN_PX, 0), max(columns.min() - MARGIN_PX, 0)
    cut = (slice(top, min(rows.max() + MARGIN_PX + 1, views.height)),
           slice(left, min(columns.max() + MARGIN_PX + 1, views.width)))  # fmt: skip
    is_known = ~views.ignore[i][cut]
    is_object = (views.masks[i][cut] > 0.95) & is_known
    area = max(float((views.masks[i] * ~views.ignore[i]).sum()), 1.0)
    pull = 1.0 + np.minimum(np.abs(distance[cut]), FAR_PX) / FAR_PX

    basis = light_basis(views.intrinsics[i], (views.height, views.width))[cut]

    def tensor(array: np.ndarray) -> Tensor:
        return torch.tensor(np.ascontiguousarray(array), dtype=torch.float32, device=device)

    depth, measured = None, None
    if views.depths is not None:
        depth, measured = views.depths[i][cut], is_object & (views.depths[i][cut] > 0.0)
    return Target(
        left=int(left),
        top=int(top),
        image=tensor(views.images[i][cut]),
        mask=tensor(views.masks[i][cut]),
        photo_weight=tensor(is_object / max(float(is_object.sum()), 1.0)),
        outline_weight=tensor(is_known * pull / area),
        camera=camera,
        light_basis=tensor(basis),
        depth=None if depth is None else tensor(depth),
        depth_weight=None if measured is None else tensor(measured / max(float(measured.sum()), 1.0)),
    )
