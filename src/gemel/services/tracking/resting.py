"""A soft prior: an object that lies on the table lies there as it lay during the scan, but for a turn about z.

It is not a rule. The farther the images put the object from rest, the less the prior counts, and a lifted object is
free of it.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3

_DOUBT = 15.0
"""Standard deviations from rest at which the prior has a quarter of its weight left: 7.5 mm, 4 degrees."""
_UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class Resting:
    """How an object lies on the table."""

    T_world_object: SE3
    """One pose at rest; others differ by where on the table, and by a turn about z."""
    height_sigma_m: float = 0.5e-3
    tilt_sigma_rad: float = 0.005

    def prior(self, T_world_object: Float[np.ndarray, "4 4"]) -> tuple[np.ndarray, np.ndarray]:
        """Information (6, 6) and gradient (6,) of a perturbation about the object's origin."""
        rest = self.T_world_object.as_matrix()
        rise_m = rest[2, 3] - T_world_object[2, 3]
        up = T_world_object[:3, :3] @ (rest[:3, :3].T @ _UP)
        tilt_rad = np.cross(up, _UP)[:2]
        away = (rise_m / self.height_sigma_m) ** 2 + np.sum(tilt_rad**2) / self.tilt_sigma_rad**2
        weight = 1.0 / (1.0 + away / _DOUBT**2) ** 2
        diagonal = np.zeros(6)
        diagonal[2:5] = weight / np.array([self.height_sigma_m, self.tilt_sigma_rad, self.tilt_sigma_rad]) ** 2
        return np.diag(diagonal), diagonal * np.array([0.0, 0.0, rise_m, *tilt_rad, 0.0])

    def placed(self, x_m: float, y_m: float, yaw_rad: float) -> Float[np.ndarray, "4 4"]:
        """The pose at rest elsewhere on the table."""
        T = self.T_world_object.as_matrix()
        c, s = np.cos(yaw_rad), np.sin(yaw_rad)
        T[:3, :3] = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ T[:3, :3]
        T[:2, 3] = x_m, y_m
        return T
