"""From coarse to fine: how far to look and how finely, in each round of the calibration."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """Some rounds of Gauss-Newton."""

    smoothing_px: float
    """Finest structure of the images that takes part."""
    cell_px: float
    """Size of a cell of the table's map, in pixels of the camera that looks at it."""
    reach_cells: int
    """How far patches are looked for."""
    reach_px: float
    """How far the robot's outline is looked for."""
    margin_px: int
    """How much wider than predicted the robot is taken to be."""
    lags: tuple[float, ...]
    """Which views of a moving camera are compared, as parts of the sequence."""
    has_fixed: bool
    """Whether moving cameras are compared with fixed ones: only when both are roughly right."""
    rounds: int = 1
    """How often at most."""


LEVELS = (
    Level(2.0, 1.85, 4, 8.0, 8, (0.07, 0.18), has_fixed=False),
    Level(2.0, 1.85, 4, 5.0, 5, (0.07, 0.18), has_fixed=False),
    Level(2.0, 1.85, 4, 4.0, 4, (0.07, 0.18, 0.33, 0.53), has_fixed=True, rounds=3),
    Level(1.0, 0.93, 3, 2.5, 3, (0.07, 0.18, 0.33, 0.53), has_fixed=True, rounds=4),
)
