"""One view's cut-out as tensors: what it should show of an object that moves, under the light that was found.

This file's whole point is torch, so it imports torch at module level.
"""

from dataclasses import dataclass

import torch  # noqa: TID253 - gradients through the renderer
from torch import Tensor  # noqa: TID253

from gemel.services.tracking.expected import Light
from gemel.services.tracking.view import View


@dataclass(frozen=True)
class LitView:
    """Image and light of a cut-out of one view; the light is kept while the object moves a little."""

    rows: slice
    columns: slice
    image: Tensor
    outside: Tensor
    factor: Tensor
    summand: Tensor

    @staticmethod
    def of(view: View, light: Light) -> "LitView":
        """A view under the light that was found in it."""
        rows, columns = light.cut
        outside, factor, summand = (torch.tensor(layer) for layer in (light.outside, light.factor, light.summand))
        return LitView(rows, columns, torch.tensor(view.image[light.cut]), outside, factor, summand)

    def difference(self, colour: Tensor, coverage: Tensor) -> Tensor:
        """Image minus what should be there with the object drawn so, (h, w, 3) of the cut-out."""
        a = coverage[self.rows, self.columns, None]
        shown = colour[self.rows, self.columns] * self.factor + a * self.summand + (1.0 - a) * self.outside
        return self.image - shown
