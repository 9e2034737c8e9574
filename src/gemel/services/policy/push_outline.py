"""An object that is pushed over a table, seen from above."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from gemel.services.tasks.objects import ObjectModel

_CELL_M = 0.05
"""Distance of supports [m]."""


@dataclass(frozen=True, eq=False)
class Outline:
    """Rectangles, and the radius of what pushes them."""

    rectangles: Float[np.ndarray, "box 4"]
    """Middle and half size of each, x and y, in the object's frame [m]."""
    tip_radius_m: float

    @staticmethod
    def of(model: ObjectModel, tip_radius_m: float) -> "Outline":
        """From the boxes that a nominal object touches with."""
        rows = [(*box.centre[:2], 0.5 * box.size[0], 0.5 * box.size[1]) for box in model.collision]
        return Outline(np.array(rows, dtype=np.float64), tip_radius_m)

    def clearance_m(self, points: Float[np.ndarray, "row 2"]) -> Float[np.ndarray, " row"]:
        """From the tip's surface to the object's, of tips at points of the object's frame; negative inside."""
        found = np.full(len(points), np.inf)
        for x, y, half_x, half_y in self.rectangles:
            dx, dy = np.abs(points[:, 0] - x) - half_x, np.abs(points[:, 1] - y) - half_y
            outside = np.hypot(np.maximum(dx, 0.0), np.maximum(dy, 0.0))
            found = np.minimum(found, outside + np.minimum(np.maximum(dx, dy), 0.0))
        return found - self.tip_radius_m

    @cached_property
    def supports(self) -> Float[np.ndarray, "point 3"]:
        """Places in the object's frame [m] and the part of the weight that each bears if it is balanced there.

        A grid over the outline, its rim included. Flat bottoms bear at the rim rather than in the middle, whether they
        are warped or rattle along, so parts grow with the distance from the middle.
        """
        corners = np.concatenate([_grid(*box) for box in self.rectangles])
        places, counts = np.unique(np.round(corners, 6), axis=0, return_counts=True)
        middle = np.average(places, axis=0, weights=counts)
        parts = counts * np.linalg.norm(places - middle, axis=1)
        return np.ascontiguousarray(np.column_stack([places, parts / parts.sum()]))

    def pushed(
        self,
        poses: Float[np.ndarray, "row 3"],
        tips_now: Float[np.ndarray, "row 2"],
        tips_after: Float[np.ndarray, "row 2"],
        physics: Float[np.ndarray, "row 5"],
    ) -> tuple[Float[np.ndarray, "row 3"], Float[np.ndarray, " row"]]:
        """Poses after the tips went straight from one place to another, and how deep they pushed (`push_kernel.py`)."""
        from gemel.services.policy.push_kernel import pushed_poses

        rows = [np.ascontiguousarray(rows, dtype=np.float64) for rows in (poses, tips_now, tips_after, physics)]
        found, depths = pushed_poses(*rows, self.rectangles, self.tip_radius_m, self.supports)
        return found, depths


def _grid(x: float, y: float, half_x: float, half_y: float) -> Float[np.ndarray, "n 2"]:
    """Corners of the cells of a rectangle, each as often as there are cells that have it."""
    axes = []
    for middle, half in ((x, half_x), (y, half_y)):
        edges = middle + half * np.linspace(-1.0, 1.0, max(1, round(2.0 * half / _CELL_M)) + 1)
        axes.append(np.concatenate([edges[:-1], edges[1:]]))
    return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
