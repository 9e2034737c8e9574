"""Which parameters the model has: names, units, physical bounds and scales; and what physics forbids.

`object/NAME/{mass,com_x,com_y,com_z}` for every object, `contact/OBJECT-SURFACE/{friction,restitution}` for every
object and everything that it may touch, and `contact/OBJECT-table/torsional`: how the weight is spread over the bottom
decides how hard an object is to turn, and without it a push takes that for a wrong centre of mass. Sizes,
`object/NAME/size_x` and so on, join when callipers were used.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Parameter, ValueSource
from gemel.errors import ConfigError, choices_text
from gemel.stages.prior.material_table import FRICTION_BOUNDS, RESTITUTION_BOUNDS
from gemel.stages.prior.solid import Solid

AXES = ("x", "y", "z")
COM = tuple(f"com_{axis}" for axis in AXES)
SIZE = tuple(f"size_{axis}" for axis in AXES)
OSMIUM_KG_M3 = 22_590.0
"""The densest element; nothing is heavier than its volume of it."""
AEROGEL_KG_M3 = 2.0
"""About the lightest solid; nothing that casts a shadow is lighter."""
TABLE = "table"
_TORSIONAL_SHARE = 0.2
"""A contact's largest torsional friction [m], over the object's longer side: under even pressure a square resists
turning by its friction times the mean distance from the middle, 0.38 of the side, and friction is about one half."""


@dataclass(frozen=True, eq=False)
class Model:
    """The objects, what each may touch, and the names that follow from them."""

    solid_from_object: Mapping[str, Solid]
    surfaces_from_object: Mapping[str, tuple[str, ...]]
    is_metric: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters that every prior speaks of."""
        masses = [f"object/{name}/{what}" for name in self.solid_from_object for what in ("mass", *COM)]
        pairs = [f"{contact}/{what}" for contact in self.contacts for what in ("friction", "restitution")]
        return (*masses, *pairs, *(f"{contact}/torsional" for contact in self.contacts if is_on_table(contact)))

    @property
    def contacts(self) -> dict[str, tuple[str, str]]:
        """Object and surface by contact, such as `contact/t_block-table`."""
        return {
            f"contact/{name}-{surface}": (name, surface)
            for name, surfaces in self.surfaces_from_object.items() for surface in surfaces
        }  # fmt: skip

    @property
    def sizes(self) -> tuple[str, ...]:
        """Parameters that exist only where they were measured."""
        return tuple(f"object/{name}/{what}" for name in self.solid_from_object for what in SIZE)

    def check(self, names: Iterable[str], *, where: str) -> None:
        """Refuse parameters that the model does not have; the closest are listed."""
        known = (*self.names, *self.sizes)
        for name in names:
            if name not in known:
                raise ConfigError(f"{where}: parameter {choices_text(name, known)}", remedy="use one of the choices")

    def solid(self, name: str) -> Solid:
        """The solid of an object's parameter."""
        return self.solid_from_object[name.split("/")[1]]

    def solid_of_contact(self, name: str) -> Solid:
        """The solid of the object that a contact's parameter is about."""
        return self.solid_from_object[self.contacts[name.rsplit("/", 1)[0]][0]]

    def bounds(self, name: str) -> tuple[float, float]:
        """What physics allows: masses between aerogel and osmium, centres of mass inside the bounding box."""
        what = name.rsplit("/", 1)[1]
        if what == "friction":
            return FRICTION_BOUNDS
        if what == "restitution":
            return RESTITUTION_BOUNDS
        if what == "torsional":
            return 0.0, _TORSIONAL_SHARE * float(np.max(self.solid_of_contact(name).extents[:2]))
        solid = self.solid(name)
        if what == "mass":
            # Three standard deviations of the mesh's own volume: a mass that even then is too dense is wrong.
            slack = float(np.exp(3.0 * solid.log_volume_sigma))
            low, high = AEROGEL_KG_M3 * solid.volume_m3 / slack, OSMIUM_KG_M3 * solid.volume_m3 * slack
            return (low, high) if self.is_metric else (1e-4, 1e3)
        axis = AXES.index(what[-1])
        if what in SIZE:
            return 0.5 * float(solid.extents[axis]), 2.0 * float(solid.extents[axis])
        return float(solid.bounds[0, axis]), float(solid.bounds[1, axis])

    def parameter(self, name: str, source: ValueSource, range_si: tuple[float, float] | None) -> Parameter:
        """The parameter with its unit, bounds and scale; `range_si` narrows the bounds."""
        what = name.rsplit("/", 1)[1]
        low, high = range_si or self.bounds(name)
        unit = "kg" if what == "mass" else "m" if what in (*COM, *SIZE, "torsional") else "1"
        return Parameter(name, unit, low, high, "log" if what in ("mass", "friction") else "linear", source)

    def check_range(self, name: str, range_si: tuple[float, float], *, where: str) -> None:
        """Refuse a range that lies partly outside what physics allows, with the numbers."""
        low, high = self.bounds(name)
        if range_si[0] >= low and range_si[1] <= high:
            return
        what = name.rsplit("/", 1)[1]
        given = f"{range_si[0]:.4g} to {range_si[1]:.4g}"
        why = f"{low:.4g} to {high:.4g} was expected"
        if what == "mass" and self.is_metric:
            volume = self.solid(name).volume_m3
            why = (
                f"the object encloses {1e6 * volume:.4g} cm³, so that would be {range_si[0] / volume:.4g} to "
                f"{range_si[1] / volume:.4g} kg/m³ (steel 7850, osmium {OSMIUM_KG_M3:.0f})"
            )
        elif what in COM:
            why = f"the object itself reaches from {low:.4g} to {high:.4g} m along that axis"
        elif what in SIZE:
            why = f"the reconstructed object measures {0.5 * high:.4g} m"
        raise ConfigError(
            f"{where}: {name} = {given} contradicts physics: {why}.", remedy="correct the value, its unit or the margin"
        )

    def check_com(self, name: str, com: Float[np.ndarray, "n 3"], *, where: str) -> None:
        """Refuse centres of mass most of which lie outside the object's convex hull."""
        inside = float(np.mean(self.solid_from_object[name].is_in_hull(com)))
        if inside >= 0.5:
            return
        middle = ", ".join(f"{value:.4g}" for value in np.median(com, axis=0))
        raise ConfigError(
            f"{where}: the centre of mass of {name!r}, about ({middle}) m in the object's frame, lies outside its "
            f"convex hull in {100 * (1 - inside):.0f} % of cases; no distribution of mass can do that.",
            remedy="correct it: the frame's origin is the middle of the bounding box",
        )


def is_on_table(contact: str) -> bool:
    """Whether a contact, such as `contact/t_block-table`, is with the table."""
    return contact.endswith(f"-{TABLE}")
