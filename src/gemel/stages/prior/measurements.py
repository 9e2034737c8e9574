"""What the user measured: anchored to the readings, with the residual range that they leave.

The range is that of Section 13.5's worked example: from the smallest reading less the margin to the largest plus the
margin; lengths 9.8, 10.1, 10.0 and 9.9 with a margin of 0.3 give 9.5 to 10.4. Inside, every value is as good as others.
"""

from collections.abc import Mapping

import numpy as np

from gemel.artifacts.belief import ValueSource
from gemel.errors import ConfigError
from gemel.stages.prior.config import Measurement
from gemel.stages.prior.model import COM, Model
from gemel.stages.prior.opinion import Opinion


def measured_opinion(
    model: Model, measured: Mapping[str, Measurement], count: int, rng: np.random.Generator
) -> Opinion:
    """Uniform draws over each residual range; ranges that contradict physics are refused."""
    where = "[measured]"
    model.check(measured, where=where)
    for name, measurement in measured.items():
        if measurement.readings_deg and not name.endswith("/friction"):
            raise ConfigError(f"{where}: {name} has readings in degrees.", remedy="a tilt test measures friction only")
        model.check_range(name, measurement.range, where=where)
    draws = {name: rng.uniform(*measurement.range, count) for name, measurement in measured.items()}
    for name, solid in model.solid_from_object.items():
        given = [f"object/{name}/{what}" in measured for what in COM]
        if any(given):
            com = np.tile(solid.centroid, (count, 1))
            for axis, what in enumerate(COM):
                com[:, axis] = draws.get(f"object/{name}/{what}", com[:, axis])
            model.check_com(name, com, where=where)
    return Opinion(
        "measured",
        draws,
        dict.fromkeys(measured, ValueSource.MEASURED),
        ranges={name: measurement.range for name, measurement in measured.items()},
        said={name: _words(measurement) for name, measurement in measured.items()},
    )


def _words(measurement: Measurement) -> str:
    readings = measurement.readings or measurement.readings_deg
    unit, margin = (" deg", measurement.margin_deg) if measurement.readings_deg else ("", measurement.margin)
    number = f"{len(readings)} reading" + ("s" if len(readings) > 1 else "")
    span = f"{min(readings):g}" if len(readings) == 1 else f"{min(readings):g} to {max(readings):g}"
    return f"{number}, {span}{unit} ± {margin:g}{unit}"
