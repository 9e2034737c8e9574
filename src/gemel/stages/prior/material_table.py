"""Materials by name: density, fill, friction and restitution as distributions, each with its source.

A range [low, high] of the table stands for a log-normal distribution with 5 % of its mass below and 5 % above it
(normal for restitution). Friction of a pair is the one that a handbook lists; for other pairs it is the geometric mean
of what the two materials show against smooth hard surfaces, made wider because that rule is rough.
"""

import difflib
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from gemel.errors import ConfigError

UNKNOWN = "unknown"
TABLE_FILE = Path(__file__).parent / "materials.toml"
_Z90 = 1.6448536269514722
"""Half the width of the central 90 % of a normal distribution, in standard deviations."""
_RULE_SIGMA = 0.2
"""Relative error of the geometric-mean rule for pairs that no handbook lists; our own judgement."""
FRICTION_BOUNDS = (0.005, 2.0)
"""Sliding friction of dry bodies; above 2 something sticks or is geometry."""
RESTITUTION_BOUNDS = (0.0, 1.0)

Draws = Float[np.ndarray, " n"]
Range = tuple[float, float]
DrawMany = Callable[[int], Draws]


@dataclass(frozen=True)
class Material:
    """One row of the table; ranges hold about 90 % of everyday specimens."""

    name: str
    family: str
    """Such as `wood`, for pairs that are listed for a whole family; may be empty."""
    density: Range
    """[kg/m³], of the material itself."""
    fill: Range
    """Part of an object's volume that it fills."""
    friction: Range
    """Sliding, dry, against a smooth hard surface."""
    restitution: Range
    sources: tuple[str, str, str]
    """Of density, friction and restitution."""


@dataclass(frozen=True)
class PairFriction:
    """Sliding friction of two materials, and where it is from."""

    range: Range
    source: str


@dataclass(frozen=True)
class MaterialTable:
    """All materials, by name and alias, and the pairs that handbooks list."""

    material_from_name: Mapping[str, Material]
    alias_of: Mapping[str, str]
    pairs: Mapping[frozenset[str], PairFriction]

    def find(self, name: str, *, where: str) -> Material:
        """The material of that name or alias; an unknown one is refused with the closest names."""
        key = name.strip().lower()
        key = self.alias_of.get(key, key)
        if key not in self.material_from_name:
            closest = difflib.get_close_matches(key, (*self.material_from_name, *self.alias_of), n=3)
            raise ConfigError(
                f"{where}: material {name!r} is unknown. Closest: {closest or 'none'}. "
                f"Choices: {sorted(self.material_from_name)}.",
                remedy="use one of the choices, or leave it out and measure the mass",
            )
        return self.material_from_name[key]

    def friction(self, first: Material, second: Material) -> PairFriction:
        """Friction of a pair: the most particular listed one, else by the rule of the module."""
        for a in (first.name, first.family):
            for b in (second.name, second.family):
                listed = self.pairs.get(frozenset((a, b)))
                if listed is not None and a and b:
                    return listed
        return PairFriction(_mean_range(first.friction, second.friction), "geometric mean of both, widened")


@cache
def material_table() -> MaterialTable:
    """The table of `materials.toml`, which lies beside this file."""
    tables = tomllib.loads(TABLE_FILE.read_text(encoding="utf-8"))
    sources = tables["sources"]
    materials = {name: _material(name, row, sources) for name, row in tables["material"].items()}
    aliases = {alias: name for name, row in tables["material"].items() for alias in row["aliases"]}
    pairs = {
        frozenset(row["between"]): PairFriction((row["friction"][0], row["friction"][1]), sources[row["source"]])
        for row in tables["pair"]
    }
    return MaterialTable(materials, aliases, pairs)


def _material(name: str, row: Mapping[str, Any], sources: Mapping[str, str]) -> Material:
    ranges = {key: (float(row[key][0]), float(row[key][1])) for key in ("density", "fill", "friction", "restitution")}
    density, friction, restitution = (sources[str(key)] for key in row["sources"])
    return Material(name, str(row["family"]), **ranges, sources=(density, friction, restitution))


def draw_log_normal(range_90: Range, count: int, rng: np.random.Generator) -> Draws:
    """Draws of a log-normal distribution whose central 90 % is the range."""
    low, high = math.log(range_90[0]), math.log(range_90[1])
    return np.exp(rng.normal(0.5 * (low + high), 0.5 * (high - low) / _Z90, count))


def draw_friction(pair: PairFriction, count: int, rng: np.random.Generator) -> Draws:
    """Draws of a pair's friction, within its bounds."""
    return within(lambda n: draw_log_normal(pair.range, n, rng), FRICTION_BOUNDS, count)


def draw_restitution(first: Material, second: Material, count: int, rng: np.random.Generator) -> Draws:
    """Draws of a pair's restitution: normal about the geometric mean of both materials', within 0 and 1."""
    low, high = (math.sqrt(first.restitution[k] * second.restitution[k]) for k in (0, 1))
    sigma = math.hypot(0.5 * (high - low) / _Z90, 0.5 * _RULE_SIGMA * (low + high) / 2.0)
    return within(lambda n: rng.normal(0.5 * (low + high), sigma, n), RESTITUTION_BOUNDS, count)


def within(draw: DrawMany, bounds: Range, count: int) -> Draws:
    """The first `count` draws that lie within the bounds; clipped if nearly none does."""
    kept = np.empty(0)
    for _ in range(20):
        drawn = draw(count)
        kept = np.concatenate([kept, drawn[(drawn >= bounds[0]) & (drawn <= bounds[1])]])
        if len(kept) >= count:
            return kept[:count]
    return np.clip(np.concatenate([kept, draw(count)])[:count], *bounds)


def _mean_range(a: Range, b: Range) -> Range:
    """Range of the geometric mean: middles and spreads averaged on the log scale, plus the rule's own error."""
    middle = 0.25 * sum(math.log(value) for value in (*a, *b))
    spread = [0.5 * math.log(high / low) / _Z90 for low, high in (a, b)]
    sigma = math.sqrt(0.5 * (spread[0] ** 2 + spread[1] ** 2) + _RULE_SIGMA**2)
    return math.exp(middle - _Z90 * sigma), math.exp(middle + _Z90 * sigma)
