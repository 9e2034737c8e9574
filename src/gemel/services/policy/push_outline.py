"""An object that is pushed over a table, seen from above."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.services.tasks.objects import ObjectModel

_GRID = 61


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

    def friction_radius_m(self, com: Float[np.ndarray, "row 2"]) -> Float[np.ndarray, " row"]:
        """Largest moment over largest force of friction [m], for centres of mass in the object's frame.

        Pressure is spread over the outline as a plane that balances there, and not below zero; the radius is the mean
        distance from its centre.
        """
        low, high = self.rectangles[:, :2] - self.rectangles[:, 2:], self.rectangles[:, :2] + self.rectangles[:, 2:]
        axes = [np.linspace(low[:, a].min(), high[:, a].max(), _GRID) for a in (0, 1)]
        points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
        points = points[self.clearance_m(points) < -self.tip_radius_m]
        middle = points.mean(axis=0)
        slope = np.linalg.solve(np.cov(points.T, bias=True), (com - middle).T).T
        pressure = np.maximum(1.0 + slope @ (points - middle).T, 0.0)
        pressure /= pressure.sum(axis=1, keepdims=True)
        centre = pressure @ points
        distance = np.linalg.norm(points[None] - centre[:, None], axis=2)
        return np.asarray((pressure * distance).sum(axis=1))
