"""Whether bodies that were read back weigh what was written."""

from collections.abc import Iterable

import numpy as np

from gemel.geometry import Inertia
from gemel.outputs.export.report import Check

_ROUNDING = 1e-9
"""What text with all digits may leave."""


def inertia_checks(pairs: Iterable[tuple[Inertia, Inertia]], whose: str = "") -> tuple[Check, ...]:
    """Largest differences of mass, centre of mass and inertia between ours and theirs."""
    both = list(pairs)
    mass = [a.mass_kg - b.mass_kg for a, b in both]
    com = [a.p_BoBcm_B - b.p_BoBcm_B for a, b in both]
    inertia = [a.I_BBcm_B - b.I_BBcm_B for a, b in both]
    named = (("mass", mass, "kg"), ("centre of mass", com, "m"), ("inertia", inertia, "kg·m²"))
    return tuple(Check(whose + what, float(np.abs(d).max(initial=0.0)), _ROUNDING, unit) for what, d, unit in named)
