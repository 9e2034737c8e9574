"""Where a task takes place: the table and the robot's bases in the world."""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Site:
    """The nominal one, unless told otherwise: the table's top and one base at the world's origin."""

    table_height_m: float | None = 0.0
    """Height of the table's top [m]; None without a table."""
    bases_xy: Float[np.ndarray, "base 2"] = field(default_factory=lambda: np.zeros((1, 2)))
    """Where the robot's root links stand [m]."""

    def values(
        self, x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], z: Float[np.ndarray, " n"]
    ) -> dict[str, Float[np.ndarray, " n"]]:
        """Distance of objects from the nearest base and, where there is a table, how far they are below it [m]."""
        distances = [np.hypot(x - base_x, y - base_y) for base_x, base_y in self.bases_xy.tolist()]
        found = {"object/distance_from_base": np.minimum.reduce(distances)}
        if self.table_height_m is not None:
            found["object/height_below_table"] = self.table_height_m - z
        return found


@runtime_checkable
class Placed(Protocol):
    """A robot that knows its site."""

    @property
    def site(self) -> Site:
        """Where it stands."""
        ...


def site_of(robot: object) -> Site:
    """A robot's own site, or the nominal one."""
    return robot.site if isinstance(robot, Placed) else Site()
