"""Names of objects that would mean two things in a scene."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from gemel.errors import ConfigError
from gemel.services.sim.contacts import FLOOR, TABLE, Part

_REMEDY = "give the object another name under [objects] in twin.toml"


def check_object_names(names: Collection[str], robot: Sequence[Part], spec: Any) -> None:
    """Refuse empty names, slashes, and names of the scene's own parts; `spec` is the robot's description."""
    taken = {TABLE, FLOOR, *(part.label for part in robot), *(body.name for body in spec.bodies)}
    taken |= {element.name for element in (*spec.geoms, *spec.joints)}
    for name in names:
        if not name or "/" in name:
            raise ConfigError(
                f"An object cannot be called {name!r}: names are not empty and have no slash.", remedy=_REMEDY
            )
        if name in taken:
            raise ConfigError(
                f"An object cannot be called {name!r}: a part of the robot or of the scene has that name.",
                remedy=_REMEDY,
            )


def check_contact_names(pairs: Sequence[tuple[Part, Part]]) -> None:
    """Refuse names with hyphens that make two contacts `A-B` read alike."""
    counted = Counter(f"{first.label}-{second.label}" for first, second in pairs)
    twice = [label for label, count in counted.items() if count > 1]
    if twice:
        raise ConfigError(
            f"Two contacts of the scene would be called {twice[0]!r}, because of the hyphens in names.", remedy=_REMEDY
        )
