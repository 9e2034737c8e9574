"""Flat opinions: the task's own ranges, and what is left when nothing at all is known."""

from collections.abc import Mapping

import numpy as np

from gemel.artifacts.belief import ValueSource
from gemel.stages.prior.material_table import Draws
from gemel.stages.prior.model import COM, Model, is_on_table
from gemel.stages.prior.opinion import Opinion

_DENSITIES = (50.0, 8000.0)
"""Of everyday objects as a whole [kg/m³], from packing foam to steel."""
_FRICTION = (0.05, 1.2)
_RESTITUTION = (0.0, 0.9)


def task_opinion(
    model: Model, ranges: Mapping[str, tuple[float, float]], count: int, rng: np.random.Generator
) -> Opinion:
    """Uniform over the ranges of the task's contract, as far as the model has those parameters.

    Not those of centres of mass: they are in the frame of the task's nominal object, which the reconstruction's frame
    (axes as the world's during the scan) is not.
    """
    known = {name: _span(r) for name, r in ranges.items() if name in model.names and "/com_" not in name}
    return Opinion(
        "task",
        {name: rng.uniform(*span, count) for name, span in known.items()},
        dict.fromkeys(known, ValueSource.RANDOMISED),
        ranges=known,
        said={name: f"the task's range {span[0]:g} to {span[1]:g}" for name, span in known.items()},
    )


def flat_opinion(model: Model, count: int, rng: np.random.Generator) -> Opinion:
    """As little as can be said: any everyday density, any place inside, wide friction and restitution."""
    draws: dict[str, Draws] = {}
    for name, solid in model.solid_from_object.items():
        low, high = (density * solid.volume_m3 for density in _DENSITIES) if model.is_metric else (1e-3, 20.0)
        draws[f"object/{name}/mass"] = np.exp(rng.uniform(np.log(low), np.log(high), count))
        com = _in_hull(model, name, count, rng)
        draws |= {f"object/{name}/{what}": column for what, column in zip(COM, com.T, strict=True)}
    for contact in model.contacts:
        draws[f"{contact}/friction"] = rng.uniform(*_FRICTION, count)
        draws[f"{contact}/restitution"] = rng.uniform(*_RESTITUTION, count)
    draws |= spread_draws(model, count, rng)
    return Opinion(
        "flat", draws, dict.fromkeys(draws, ValueSource.RANDOMISED), said=dict.fromkeys(draws, "anything plausible")
    )


def spread_draws(model: Model, count: int, rng: np.random.Generator) -> dict[str, Draws]:
    """Torsional friction on the table: objects may rest on their middle, all over their bottom, or between."""
    names = [f"{contact}/torsional" for contact in model.contacts if is_on_table(contact)]
    return {name: rng.uniform(*model.bounds(name), count) for name in names}


def _in_hull(model: Model, name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points spread evenly through an object's convex hull."""
    solid = model.solid_from_object[name]
    kept = np.empty((0, 3))
    while len(kept) < count:
        points = rng.uniform(solid.bounds[0], solid.bounds[1], (4 * count, 3))
        kept = np.concatenate([kept, points[solid.is_in_hull(points)]])
    return kept[:count]


def _span(range_si: tuple[float, float]) -> tuple[float, float]:
    return float(range_si[0]), float(range_si[1])
