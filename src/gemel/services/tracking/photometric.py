"""One view's photometric cost of an object's pose, differentiable through the renderer, and its curvature.

Light, weights of the pixels and curvature are those of the pose that is looked from (`expected.py`, `evidence.py`); the
cost itself is drawn anew for every pose, so its gradient knows of parallax, outlines and what hides behind what.
This file's whole point is torch, so it imports torch at module level.
"""

from dataclasses import dataclass

import numpy as np
import torch  # noqa: TID253 - gradients through the renderer
from jaxtyping import Float
from torch import Tensor  # noqa: TID253

from gemel.services.render.renderer import Renderer
from gemel.services.tracking.evidence import ErrorModel, pixel_rows
from gemel.services.tracking.expected import expect
from gemel.services.tracking.lit_view import LitView
from gemel.services.tracking.tracked_object import TrackedObject
from gemel.services.tracking.view import View


@dataclass(frozen=True, eq=False)
class Photometric:
    """Half the weighted sum of squared differences between a view and what it should show."""

    tracked: TrackedObject
    view: View
    lit: LitView
    weights: Tensor
    """Of the cut-out's colours, (h, w, 3), in units of one over their variance."""
    information: Float[np.ndarray, "6 6"]
    """Gauss-Newton curvature for a perturbation about the object's origin (`evidence.py`)."""
    renderer: Renderer

    @staticmethod
    def of(
        tracked: TrackedObject,
        view: View,
        T_world_object: Float[np.ndarray, "4 4"],
        errors: ErrorModel,
        *,
        renderer: Renderer,
    ) -> "Photometric | None":
        """The cost as seen from a pose; None where the view tells nothing about it."""
        T_camera_object = view.T_camera_world @ T_world_object
        (drawing,) = tracked.draw(T_camera_object[None], view.intrinsics[None], [view.shape], renderer=renderer)
        expected = expect(view, drawing)
        if expected is None:
            return None
        rows = pixel_rows(view, expected, T_world_object, blur_px=0.0, errors=errors)
        if rows is None:
            return None
        weights = np.zeros(expected.residual.shape)
        weights[rows.at] = rows.weights
        information = np.einsum("nci,nc,ncj->ij", rows.J, rows.weights, rows.J)
        lit = LitView.of(view, expected.light)
        return Photometric(tracked, view, lit, torch.tensor(weights).float(), information, renderer)

    def cost(self, T_world_object: Tensor) -> Tensor:
        """At a pose (4, 4)."""
        T_camera_world = torch.tensor(self.view.T_camera_world, dtype=T_world_object.dtype)
        intrinsics = torch.tensor(self.view.intrinsics[None], dtype=torch.float32)
        T_camera_object = (T_camera_world @ T_world_object)[None].float()
        images = self.tracked.render(T_camera_object, intrinsics, self.view.shape, renderer=self.renderer)
        difference = self.lit.difference(images.colour[0], images.alpha[0])
        return 0.5 * (self.weights * difference.square()).sum().to(T_world_object.dtype)
