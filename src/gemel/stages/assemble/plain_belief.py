"""What is believed before anybody looked or pushed: any density from cork to stone, any usual friction.

Stands in until a prior is made from images and labels; nothing in it comes from data.
"""

from collections.abc import Mapping

import numpy as np

from gemel.artifacts.belief import Belief, Parameter, ValueSource

_DENSITY_KG_M3 = (150.0, 3000.0)
_FRICTION = (0.1, 1.0)
_SAMPLES = 256


def plain_belief(volumes_m3: Mapping[str, float], *, has_table: bool, rng: np.random.Generator) -> Belief:
    """Masses of objects of uniform density, log-uniform, and frictions on the table, uniform."""
    parameters, columns = [], []
    for name, volume_m3 in volumes_m3.items():
        low, high = (density * volume_m3 for density in _DENSITY_KG_M3)
        parameters.append(Parameter(f"object/{name}/mass", "kg", low, high, "log", ValueSource.RANDOMISED))
        columns.append(np.exp(rng.uniform(np.log(low), np.log(high), _SAMPLES)))
        if has_table:
            contact = f"contact/{name}-table/friction"
            parameters.append(Parameter(contact, "", *_FRICTION, "linear", ValueSource.RANDOMISED))
            columns.append(rng.uniform(*_FRICTION, _SAMPLES))
    samples = np.stack(columns, axis=1) if columns else np.zeros((_SAMPLES, 0))
    return Belief(tuple(parameters), samples, np.full(_SAMPLES, 1.0 / _SAMPLES))
