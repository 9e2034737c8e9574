"""What one source says of some parameters, and how the opinions of several become one belief."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief, ValueSource
from gemel.stages.prior.model import COM, Model

Draws = Float[np.ndarray, " n"]


@dataclass(frozen=True, eq=False)
class Opinion:
    """Joint draws of some parameters: row i of all columns belongs together."""

    origin: str
    """`measured`, `file`, `vlm`, `materials`, `geometry`, `task`, `flat` or `unknown material`."""
    draws: Mapping[str, Draws]
    source_from_name: Mapping[str, ValueSource]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Bounds that are narrower than physics', where the source has sharp ones."""
    said: Mapping[str, str] = field(default_factory=dict)
    """In few words, by parameter: what it rests on."""
    cited: Mapping[str, str] = field(default_factory=dict)
    """Where that is written, by parameter."""


def strongest(opinions: Sequence[Opinion], names: Sequence[str]) -> dict[str, Opinion]:
    """For every parameter the first opinion that speaks of it."""
    chosen = {}
    for name in names:
        for opinion in opinions:
            if name in opinion.draws:
                chosen[name] = opinion
                break
    return chosen


def combined(
    model: Model, opinions: Sequence[Opinion], names: Sequence[str], count: int
) -> tuple[Belief, dict[str, Opinion]]:
    """One belief by precedence: each parameter is taken from the first opinion that speaks of it.

    Columns of one opinion stay together row by row, so that what it says jointly of mass and centre of mass survives.
    Centres of mass whose axes come from different opinions may leave the hull; they are pulled back to it.
    """
    chosen = strongest(opinions, names)
    samples = np.empty((count, len(names)))
    for column, name in enumerate(names):
        samples[:, column] = chosen[name].draws[name]
    for name, solid in model.solid_from_object.items():
        columns = [list(names).index(f"object/{name}/{what}") for what in COM]
        samples[:, columns] = _inside(model, name, samples[:, columns], columns, names, chosen)
        assert solid.is_in_hull(samples[:, columns], slack_m=1e-6).all()
    parameters = tuple(
        model.parameter(name, chosen[name].source_from_name[name], chosen[name].ranges.get(name)) for name in names
    )
    return Belief(parameters, samples, np.full(count, 1.0 / count)), chosen


def _inside(
    model: Model,
    name: str,
    com: Float[np.ndarray, "n 3"],
    columns: Sequence[int],
    names: Sequence[str],
    chosen: Mapping[str, Opinion],
) -> Float[np.ndarray, "n 3"]:
    """Centres of mass inside the hull; rows with sharp bounds are replaced by others that obey both."""
    solid = model.solid_from_object[name]
    pulled = solid.pulled_into_hull(com)
    ranges = [chosen[names[column]].ranges.get(names[column]) for column in columns]
    if all(range_si is None for range_si in ranges):
        return pulled
    low = np.array([-np.inf if r is None else r[0] for r in ranges])
    high = np.array([np.inf if r is None else r[1] for r in ranges])
    good = solid.is_in_hull(com) & np.all((com >= low) & (com <= high), axis=1)
    if not good.any():
        model.check_com(name, com, where="The combined prior")
        return pulled
    return com[np.flatnonzero(good)[np.arange(len(com)) % int(good.sum())]]
