"""The MCube pushes (Yu, Bauza, Fazeli and Rodriguez, IROS 2016): straight 50 mm pushes of flat objects.

Per set of shape, surface and speed: pose of the object (x, y [m], yaw [rad]) and centre of the probe (x, y [m])
before and after, in the world; outlines in the object's frame.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from gemel.benchmarks.measured import check_columns, read_measurements
from gemel.errors import SourceError

PROBE_RADIUS_M = 0.00475
_AUTHORS = ("quadratic", "poly4")


@dataclass(frozen=True, eq=False)
class Pushes:
    """Pushes of one object on one surface at one speed."""

    name: str
    outline: Float[np.ndarray, "corner 2"]
    speed: float
    """Of the probe [m/s]."""
    start: Float[np.ndarray, "n 3"]
    end: Float[np.ndarray, "n 3"]
    tip_start: Float[np.ndarray, "n 2"]
    tip_end: Float[np.ndarray, "n 2"]
    authors_end: Float[np.ndarray, "model n 3"]
    """End poses that the authors' two models of the limit surface predict; none where the file has none."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def surface(self) -> str:
        """What the object slides on."""
        return self.name.split("_")[0]

    @property
    def shape(self) -> str:
        """Which object."""
        return self.name.split("_")[1]

    def subset(self, rows: Int[np.ndarray, " k"]) -> "Pushes":
        """Some of the pushes."""
        parts = (self.start, self.end, self.tip_start, self.tip_end)
        start, end, tip_start, tip_end = (part[rows] for part in parts)
        theirs = self.authors_end[:, rows]
        return Pushes(self.name, self.outline, self.speed, start, end, tip_start, tip_end, theirs)


def read_pushes(data: Path, shapes: Path) -> list[Pushes]:
    """All sets, by name `SURFACE_SHAPE_vSPEED` with the speed in mm/s."""
    arrays, outlines = read_measurements(data), read_measurements(shapes)
    names = sorted({name.split("/")[0] for name in arrays})
    return [_pushes(data, shapes, name, arrays, outlines) for name in names]


def _pushes(
    data: Path, shapes: Path, name: str, arrays: dict[str, np.ndarray], outlines: dict[str, np.ndarray]
) -> Pushes:
    parts = name.split("_")
    if len(parts) != 3 or parts[1] not in outlines or not parts[2][1:].isdigit():
        raise SourceError(
            f"Set {name!r} in {data} is not named SURFACE_SHAPE_vSPEED with a shape of {shapes}: {sorted(outlines)}.",
            remedy="give the shapes file that belongs to the pushes",
        )
    columns = {"init_pose": 3, "final_pose": 3, "tip_init": 2, "tip_final": 2}
    for key, width in columns.items():
        check_columns(data, f"{name}/{key}", arrays.get(f"{name}/{key}", np.zeros(0)), width)
    start, end, tip_start, tip_end = (arrays[f"{name}/{key}"] for key in columns)
    theirs = [arrays[key] for key in (f"{name}/authors_sim_final_{kind}" for kind in _AUTHORS) if key in arrays]
    authors_end = np.array(theirs).reshape(len(theirs), len(start), 3)
    return Pushes(name, outlines[parts[1]], 1e-3 * float(parts[2][1:]), start, end, tip_start, tip_end, authors_end)
