"""Where objects stand: each on the highest thing below it, the table or another object.

Objects are put down from the lowest to the highest, so that what carries others is in place first.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from gemel.geometry import SE3
from gemel.stages.assemble.resting import lowest

Points = Float[np.ndarray, "_ 3"]
Pieces = tuple[Points, ...]


def put_down(
    pieces: Mapping[str, Pieces], placements: Mapping[str, SE3], table_height_m: float | None, lift_m: float
) -> tuple[dict[str, SE3], dict[str, float]]:
    """`T_world_object` with objects that are within `lift_m` of their support put on it [m].

    Returned besides: how far those that are farther are above it, negative for inside the table.
    """
    placed: dict[str, SE3] = {}
    left: dict[str, float] = {}
    for name in sorted(pieces, key=lambda name: lowest(pieces[name], placements[name])):
        pose, mine = placements[name], [placements[name] @ piece for piece in pieces[name]]
        gaps = [] if table_height_m is None else [lowest(pieces[name], pose) - table_height_m]
        for other, T_world_other in placed.items():
            gap_m = drop([T_world_other @ piece for piece in pieces[other]], mine)
            # What is deeper inside stands beside or below it there; what starts inside is told by the gate.
            gaps += [gap_m] if gap_m >= -lift_m else []
        above_m = min(gaps, default=0.0)
        if abs(above_m) <= lift_m:
            pose = SE3(pose.rotation, pose.translation - np.array([0.0, 0.0, above_m]))
        else:
            left[name] = above_m
        placed[name] = pose
    return {name: placed[name] for name in pieces}, left


def drop(below: Sequence[Points], above: Sequence[Points]) -> float:
    """How far pieces can fall until they touch others [m]; infinite where they would miss, negative where inside."""
    found = np.inf
    for low in below:
        for high in above:
            is_over = (low[:, :2].min(axis=0) <= high[:, :2].max(axis=0)) & (
                high[:, :2].min(axis=0) <= low[:, :2].max(axis=0)
            )
            if is_over.all():
                found = min(found, _drop(low, high))
    return found


def _drop(below: Points, above: Points) -> float:
    """The same of two hulls: the least height of a point of one above a point of the other, a linear programme."""
    from scipy.optimize import linprog

    count, other = len(above), len(below)
    equal = np.zeros((4, count + other))
    equal[:2, :count], equal[:2, count:] = above[:, :2].T, -below[:, :2].T
    equal[2, :count] = equal[3, count:] = 1.0
    heights = np.concatenate([above[:, 2], -below[:, 2]])
    answer = linprog(heights, A_eq=equal, b_eq=[0.0, 0.0, 1.0, 1.0], bounds=(0.0, None))
    return float(answer.fun) if answer.success else np.inf
