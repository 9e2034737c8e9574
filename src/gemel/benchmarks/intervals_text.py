"""Fitted parameters as one cell of a table: `name mean [2.5 %, 97.5 %] unit; …`."""

from collections.abc import Mapping

from gemel.artifacts.belief import Belief
from gemel.services.stats import central_interval


def interval_text(
    posterior: Belief, *, factors: Mapping[str, float] | None = None, units: Mapping[str, str] | None = None
) -> str:
    """All parameters; `factors` and `units` turn units of the belief into those of the table."""
    factors, units = factors or {}, units or {}
    means = posterior.weights @ posterior.samples
    ends = central_interval(posterior.samples, posterior.weights, 0.95)
    cells = []
    for parameter, mean, (low, high) in zip(posterior.parameters, means, ends, strict=True):
        f = factors.get(parameter.unit, 1.0)
        unit = units.get(parameter.unit, parameter.unit)
        cells.append(f"{parameter.name} {f * mean:.4g} [{f * low:.4g}, {f * high:.4g}] {unit}".rstrip())
    return "; ".join(cells)
