"""How likely each pixel of a view is object rather than table, robot or anything else."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.stages.segment.appearance import UNIFORM, Colours
from gemel.stages.segment.background import Backdrop, background_log_likelihood
from gemel.stages.segment.placed import Placed

SURE = 5.0
"""No pixel's colour says more than this (log odds)."""
_AS_KNOWN = -0.7
"""Log probability that a background pixel looks as its known background does; else it looks like any table."""
_AS_TABLE = -4.0
_ANYTHING = UNIFORM - 2.0
"""Log probability of a colour for things that are neither table nor robot nor object: a hand, a cable."""
_ROBOT_BEHIND = 4.0
"""Log odds against something standing in front of where the robot surely is."""


@dataclass(frozen=True, eq=False)
class Looks:
    """The colours of everything in the scene."""

    object: Colours
    table: Colours
    robot: Colours
    strangers: tuple[tuple[Colours, float], ...] = ()
    """Colours of things that are none of these, with the log probability of meeting one at a pixel."""


def colour_odds(placed: Placed, looks: Looks, drops: list[Backdrop]) -> Float[np.ndarray, "h w"]:
    """Log odds of object from each pixel's own colour."""
    as_object = looks.object(placed.bins)
    as_rest = looks.table(placed.bins)
    for drop in drops:
        at_place = background_log_likelihood(placed.view.image, drop) + _AS_KNOWN
        as_rest = np.where(drop.is_known, np.logaddexp(at_place, as_rest + _AS_TABLE), as_rest)
    as_rest = np.maximum(as_rest, _ANYTHING)
    for stranger, log_chance in looks.strangers:
        as_rest = np.maximum(as_rest, stranger(placed.bins) + log_chance)
    odds = as_object - as_rest
    over_robot = as_object - looks.robot(placed.bins)
    odds = np.where(placed.near_robot, np.minimum(odds, over_robot), odds)
    odds = np.where(placed.on_robot, np.minimum(odds, over_robot - _ROBOT_BEHIND), odds)
    return np.clip(odds, -SURE, SURE)
