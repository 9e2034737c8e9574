"""Mass and centre of mass from what an object is made of: densities, how full it is, and weight that may hide in it.

One draw goes like this. The mesh's volume is off by a factor. Every part gets a density and a fill of its material.
Part of the mass, `uneven` on average, is a hidden weight at a random place inside: the centre of mass moves towards it
and the total grows by it (not that of an unknown material, whose density is of the object as a whole). So mass and
centre of mass of one draw belong together, and the centre of mass, being a mean of places inside, is never outside the
hull.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.stages.prior.config import Matter
from gemel.stages.prior.material_table import UNKNOWN, Material, draw_log_normal, material_table
from gemel.stages.prior.solid import Slab, Solid

_POOL = 100
"""Draws made for each draw wanted, when they have to match a mass that is known better."""
_ENOUGH = 0.1
"""Matching draws, over draws wanted, below which the material is said to contradict the known mass."""


@dataclass(frozen=True, eq=False)
class MatterDraws:
    """Joint draws for one object."""

    mass_kg: Float[np.ndarray, " n"]
    com: Float[np.ndarray, "n 3"]
    is_consistent: bool = True
    """False when hardly any draw had the mass that is known better; then the draws ignore it."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A slab of one material."""

    material: Material
    fill: tuple[float, float]
    slab: Slab


def pieces_of(solid: Solid, matter: Matter, *, where: str) -> list[Piece]:
    """The object cut into its materials."""
    body = material_table().find(matter.material or UNKNOWN, where=where)
    if not matter.parts:
        return [Piece(body, _fill(matter.fill, body), Slab(solid.volume_m3, solid.centroid))]
    low_end = [part for part in matter.parts if part.where[0] == "-"]
    high_end = [part for part in matter.parts if part.where[0] == "+"]
    from_low = np.cumsum([part.share for part in low_end])
    from_high = 1.0 - np.cumsum([part.share for part in high_end])[::-1]
    slabs = solid.slabs([*map(float, from_low), *map(float, from_high)], "xyz".index(matter.parts[0].where[1]))
    owners = [*low_end, None, *reversed(high_end)]
    pieces = []
    for part, slab in zip(owners, slabs, strict=True):
        material = body if part is None else material_table().find(part.material, where=where)
        fill = _fill(matter.fill if part is None else part.fill, material)
        pieces.append(Piece(material, fill, slab))
    return [piece for piece in pieces if piece.slab.volume_m3 > 0.0]


def draw_matter(
    solid: Solid,
    matter: Matter,
    count: int,
    rng: np.random.Generator,
    *,
    sizes: Mapping[int, tuple[float, float]] | None = None,
    mass_range_kg: tuple[float, float] | None = None,
    where: str = "",
) -> MatterDraws:
    """Draws of mass [kg] and centre of mass [m, object frame].

    `sizes` are measured ranges of the extent by axis; `mass_range_kg` is a mass known from elsewhere: only draws that
    have it are kept, so that a heavy object of a light material has its centre of mass where a hidden weight may be.
    """
    pieces = pieces_of(solid, matter, where=where)
    if mass_range_kg is None:
        return _draw(solid, pieces, matter, count, rng, sizes or {})
    pool = _draw(solid, pieces, matter, _POOL * count, rng, sizes or {})
    fitting = np.flatnonzero((pool.mass_kg >= mass_range_kg[0]) & (pool.mass_kg <= mass_range_kg[1]))
    if len(fitting) < _ENOUGH * count:
        return MatterDraws(pool.mass_kg[:count], pool.com[:count], is_consistent=False)
    rows = fitting[np.arange(count) % len(fitting)]
    return MatterDraws(pool.mass_kg[rows], pool.com[rows])


def _draw(
    solid: Solid,
    pieces: list[Piece],
    matter: Matter,
    count: int,
    rng: np.random.Generator,
    sizes: Mapping[int, tuple[float, float]],
) -> MatterDraws:
    stretch = np.ones((count, 3))
    for axis, range_m in sizes.items():
        stretch[:, axis] = rng.uniform(*range_m, count) / solid.extents[axis]
    # An axis that was measured no longer contributes to the volume's error.
    sigma = solid.log_volume_sigma * np.sqrt(1.0 - len(sizes) / 3.0)
    volume_factor = np.prod(stretch, axis=1) * np.exp(rng.normal(0.0, sigma, count) if sigma else 0.0)
    masses = np.stack([
        draw_log_normal(p.material.density, count, rng) * rng.uniform(*p.fill, count) * p.slab.volume_m3 for p in pieces
    ])  # fmt: skip
    body_kg = masses.sum(axis=0)
    com = np.einsum("pn,pi->ni", masses / body_kg, np.stack([piece.slab.centroid for piece in pieces]))
    com += rng.normal(0.0, solid.position_sigma_m, (count, 3))
    share = matter.hidden_share
    hidden = rng.beta(1.0, 1.0 / share - 1.0, count) if share else np.zeros(count)
    places = solid.interior[rng.integers(0, len(solid.interior), count)]
    com = solid.pulled_into_hull((1.0 - hidden)[:, None] * com + hidden[:, None] * places)
    middle = solid.bounds.mean(axis=0)
    # A measured size stretches places about the middle, the frame's origin; the hull check is on the mesh as it is.
    com = solid.pulled_into_hull(middle + stretch * (com - middle)) if sizes else com
    whole_kg = body_kg * volume_factor / (1.0 - hidden if matter.material else 1.0)
    return MatterDraws(whole_kg, com)


def _fill(given: tuple[float, ...], material: Material) -> tuple[float, float]:
    return (given[0], given[-1]) if given else material.fill
