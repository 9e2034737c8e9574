"""Fitted parameters as cells of a table: `mean [2.5 %, 97.5 %]`."""

from collections.abc import Mapping

from gemel.artifacts.belief import Belief
from gemel.services.stats import central_interval


def interval_columns(
    posterior: Belief, *, factors: Mapping[str, float] | None = None, units: Mapping[str, str] | None = None
) -> dict[str, object]:
    """One entry per parameter, by its name and unit; `factors` turn units of the belief into those of the table."""
    factors, units = factors or {}, units or {}
    means = posterior.weights @ posterior.samples
    ends = central_interval(posterior.samples, posterior.weights, 0.95)
    cells: dict[str, object] = {}
    for parameter, mean, (low, high) in zip(posterior.parameters, means, ends, strict=True):
        f = factors.get(parameter.unit, 1.0)
        unit = units.get(parameter.unit, parameter.unit)
        name = parameter.name + (f" [{unit}]" if unit else "")
        cells[name] = f"{f * mean:.4g} [{f * low:.4g}, {f * high:.4g}]"
    return cells
