"""The user's own prior, a TOML file of distributions by parameter:

["object/t_block/mass"]
log_normal = [0.34, 1.05]        # median, and the factor of one standard deviation

["contact/t_block-table/friction"]
uniform = [0.3, 0.5]

["object/t_block/com_y"]
normal = [0.03, 0.01]            # mean, standard deviation
source = "inferred"              # measured, inferred, generated or randomised (the default)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemel.artifacts.belief import ValueSource
from gemel.errors import ConfigError
from gemel.services.formats.toml_table import from_table
from gemel.stages.prior.material_table import Draws, within
from gemel.stages.prior.model import COM, Model
from gemel.stages.prior.opinion import Opinion

_SHAPES = ("uniform", "normal", "log_normal")
_LEAST_INSIDE = 0.5
"""A distribution with less of its mass than this inside what physics allows contradicts it."""


@dataclass(frozen=True)
class Distribution:
    """One of `uniform`, `normal` and `log_normal`, in SI units."""

    uniform: tuple[float, ...] = ()
    """Smallest and largest value."""
    normal: tuple[float, ...] = ()
    """Mean and standard deviation."""
    log_normal: tuple[float, ...] = ()
    """Median, and the factor that one standard deviation is."""
    source: ValueSource = ValueSource.RANDOMISED

    def __post_init__(self) -> None:
        given = [name for name in _SHAPES if getattr(self, name)]
        if len(given) != 1 or len(getattr(self, given[0])) != 2:
            raise ConfigError(
                f"{len(given)} distributions are given: {given}; one, with two numbers, was expected.",
                remedy="write uniform = [low, high], normal = [mean, sigma] or log_normal = [median, factor]",
            )
        a, b = getattr(self, given[0])
        if (given[0] == "uniform" and not a < b) or (given[0] == "normal" and not b > 0.0):
            raise ConfigError(
                f"{given[0]} = [{a}, {b}] has no width.", remedy="let the second number say how sure it is"
            )
        if given[0] == "log_normal" and not (a > 0.0 and b > 1.0):
            raise ConfigError(
                f"log_normal = [{a}, {b}]: a positive median and a factor above 1 were expected.", remedy="correct it"
            )

    def draw(self, count: int, rng: np.random.Generator) -> Draws:
        """Draws, not yet bounded."""
        if self.uniform:
            return rng.uniform(self.uniform[0], self.uniform[1], count)
        if self.normal:
            return rng.normal(self.normal[0], self.normal[1], count)
        return self.log_normal[0] * self.log_normal[1] ** rng.normal(0.0, 1.0, count)

    @property
    def words(self) -> str:
        """Such as `normal [0.03, 0.01]`."""
        return next(f"{name} {list(getattr(self, name))}" for name in _SHAPES if getattr(self, name))


def file_opinion(
    model: Model, table: Mapping[str, Any], count: int, rng: np.random.Generator, *, where: str
) -> Opinion:
    """Draws of the file's distributions; what contradicts physics is refused."""
    model.check(table, where=where)
    distributions = {name: from_table(Distribution, row, where=f"{where} [{name!r}]") for name, row in table.items()}
    draws = {name: _bounded(model, name, d, count, rng, where) for name, d in distributions.items()}
    for name, solid in model.solid_from_object.items():
        if all(f"object/{name}/{what}" in draws for what in COM):
            com = np.stack([draws[f"object/{name}/{what}"] for what in COM], axis=1)
            model.check_com(name, com, where=where)
            draws |= {f"object/{name}/{what}": c for what, c in zip(COM, solid.pulled_into_hull(com).T, strict=True)}
    return Opinion(
        "file",
        draws,
        {name: distribution.source for name, distribution in distributions.items()},
        ranges={name: (d.uniform[0], d.uniform[1]) for name, d in distributions.items() if d.uniform},
        said={name: distribution.words for name, distribution in distributions.items()},
    )


def _bounded(
    model: Model, name: str, distribution: Distribution, count: int, rng: np.random.Generator, where: str
) -> Draws:
    if distribution.uniform:
        model.check_range(name, (distribution.uniform[0], distribution.uniform[1]), where=where)
        return distribution.draw(count, rng)
    tried = distribution.draw(1000, rng)
    low, high = model.bounds(name)
    if np.mean((tried >= low) & (tried <= high)) < _LEAST_INSIDE:
        model.check_range(name, (float(np.quantile(tried, 0.05)), float(np.quantile(tried, 0.95))), where=where)
    return within(lambda n: distribution.draw(n, rng), (low, high), count)
