"""Opinions from what things are made of: `materials`, and `geometry`, which takes the density as uniform."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gemel.artifacts.belief import ValueSource
from gemel.artifacts.finding import Finding, Severity
from gemel.stages.prior.config import Matter, PriorConfig
from gemel.stages.prior.material_table import (
    UNKNOWN,
    Draws,
    draw_friction,
    draw_restitution,
    material_table,
)
from gemel.stages.prior.matter import MatterDraws, draw_matter
from gemel.stages.prior.model import AXES, COM, Model
from gemel.stages.prior.opinion import Opinion
from gemel.stages.prior.ranges import spread_draws

Ranges = Mapping[str, tuple[float, float]]


def material_opinions(
    model: Model,
    config: PriorConfig,
    better: Ranges,
    count: int,
    rng: np.random.Generator,
    *,
    is_uniform: bool,
) -> tuple[Opinion, Opinion, tuple[Finding, ...]]:
    """What labelled materials say, what can be said of the rest without any label, and what is worth a remark.

    `better` are ranges that stronger sources give: of masses, which the draws are made to match, and of sizes.
    `is_uniform` is the prior `geometry`: full and even, centre of mass at the middle of the volume.
    """
    labelled, rest = _Columns(), _Columns()
    findings: list[Finding] = []
    for name in model.solid_from_object:
        matter = config.objects.get(name, Matter())
        matter = _as_uniform(matter) if is_uniform else matter
        drawn = _object_draws(model, name, matter, better, count, rng)
        findings += _remarks(name, matter, drawn, better, is_uniform=is_uniform)
        columns = labelled if matter.material else rest
        columns.add_object(model, name, drawn, matter, is_uniform=is_uniform)
    for contact, (name, surface) in model.contacts.items():
        first = config.objects[name].material if name in config.objects else ""
        second = config.surfaces[surface].material if surface in config.surfaces else ""
        columns = labelled if first and second else rest
        columns.add_contact(contact, first or UNKNOWN, second or UNKNOWN, count, rng)
    rest.add_spread(spread_draws(model, count, rng))
    words = ("geometry", "geometry") if is_uniform else ("materials", "unknown material")
    return labelled.opinion(words[0]), rest.opinion(words[1]), tuple(findings)


class _Columns:
    """Draws with the words that explain them, as they come in."""

    def __init__(self) -> None:
        self.draws: dict[str, Draws] = {}
        self.said: dict[str, str] = {}
        self.cited: dict[str, str] = {}
        self.source: dict[str, ValueSource] = {}

    def add_object(self, model: Model, name: str, drawn: MatterDraws, matter: Matter, *, is_uniform: bool) -> None:
        """Mass and centre of mass of one object; only a centre of mass at uniform density is inferred."""
        words, cited = _matter_words(matter), _matter_sources(matter)
        mass_kg = np.clip(drawn.mass_kg, *model.bounds(f"object/{name}/mass"))
        self._add(f"object/{name}/mass", mass_kg, words, cited)
        for what, column in zip(COM, drawn.com.T, strict=True):
            source = ValueSource.INFERRED if is_uniform else ValueSource.RANDOMISED
            self._add(f"object/{name}/{what}", column, words, cited, source)

    def add_contact(self, contact: str, first: str, second: str, count: int, rng: np.random.Generator) -> None:
        """Friction and restitution of one pair."""
        table = material_table()
        a, b = (table.find(name, where=f"material of {contact}") for name in (first, second))
        pair = table.friction(a, b)
        words = f"{a.name} on {b.name}"
        self._add(f"{contact}/friction", draw_friction(pair, count, rng), words, pair.source)
        cited = "; ".join(dict.fromkeys((a.sources[2], b.sources[2])))
        self._add(f"{contact}/restitution", draw_restitution(a, b, count, rng), words, cited)

    def add_spread(self, draws: Mapping[str, Draws]) -> None:
        """How the weight rests on the table, which no material tells."""
        for name, column in draws.items():
            self._add(name, column, "the weight may rest anywhere on the bottom", "")

    def opinion(self, origin: str) -> Opinion:
        """All of it."""
        return Opinion(origin, self.draws, self.source, said=self.said, cited=self.cited)

    def _add(
        self, name: str, draws: Draws, words: str, cited: str, source: ValueSource = ValueSource.RANDOMISED
    ) -> None:
        self.draws[name], self.said[name], self.cited[name], self.source[name] = draws, words, cited, source


def _object_draws(
    model: Model, name: str, matter: Matter, better: Ranges, count: int, rng: np.random.Generator
) -> MatterDraws:
    sizes = {i: better[key] for i, axis in enumerate(AXES) if (key := f"object/{name}/size_{axis}") in better}
    mass_range_kg = better.get(f"object/{name}/mass") if model.is_metric and matter.material else None
    return draw_matter(
        model.solid_from_object[name], matter, count, rng, sizes=sizes, mass_range_kg=mass_range_kg,
        where=f"[objects.{name}]",
    )  # fmt: skip


def _as_uniform(matter: Matter) -> Matter:
    return replace(matter, fill=(1.0,), uneven=0.0, parts=())


def _matter_words(matter: Matter) -> str:
    material = material_table().find(matter.material or UNKNOWN, where="material")
    ends = "".join(f", {part.where} end {part.material}" for part in matter.parts)
    fill = matter.fill or material.fill
    filled = f"{fill[0]:g} to {fill[-1]:g}" if fill[0] < fill[-1] else f"{fill[0]:g}"
    if not matter.material and not matter.parts:
        return "any density, weight anywhere inside" if matter.hidden_share else "any density, even"
    return f"{material.name}{ends}, filled {filled}, {100 * matter.hidden_share:g} % anywhere"


def _matter_sources(matter: Matter) -> str:
    names = [matter.material or UNKNOWN, *(part.material for part in matter.parts)]
    return "; ".join(dict.fromkeys(material_table().find(name, where="material").sources[0] for name in names))


def _remarks(name: str, matter: Matter, drawn: MatterDraws, better: Ranges, *, is_uniform: bool) -> list[Finding]:
    known = better.get(f"object/{name}/mass")
    if not matter.material and known is None:
        return [Finding(
            "material-unknown", Severity.NOTE,
            f"Nothing says what {name!r} is made of, so its mass may be anything between "
            f"{np.quantile(drawn.mass_kg, 0.05):.3g} and {np.quantile(drawn.mass_kg, 0.95):.3g} kg.",
            f'put it on a scale: [objects.{name}.measured] mass_kg = {{ readings = [..], margin = .. }}; or say '
            f'material = ".." under [objects.{name}]', stream=name,
        )]  # fmt: skip
    if drawn.is_consistent or known is None:
        return []
    low, high = np.quantile(drawn.mass_kg, [0.05, 0.95])
    return [Finding(
        "mass-unlike-material", Severity.WARNING,
        f"{name!r} has a mass of {known[0]:.4g} to {known[1]:.4g} kg, but {matter.material} of its shape would have "
        f"{low:.3g} to {high:.3g} kg; the mass is kept, and the centre of mass does not follow from it.",
        "check the material, the fill, and that nothing is attached to or inside the object"
        + (" (geometry takes the object as full)" if is_uniform else ""), stream=name,
    )]  # fmt: skip
