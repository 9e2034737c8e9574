"""What remains to be randomised: the posterior's credible set, checked on episodes that were not fitted.

The band that posterior draws and the inferred noise predict for the validation episodes has to hold what was tracked
there, up to what chance allows. Where it does not, all draws are moved away from their median until it does, and the
gap is reported as a range miss: the posterior alone would have promised too much. No range gets wider than the
prior's, which nothing in the data asks for.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief, ValueSource
from gemel.services.inference import NoiseLayout, NoiseLevel
from gemel.services.stats import binomial_bounds, central_interval, weighted_quantiles
from gemel.stages.identify.problem import Problem

_WIDENINGS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0)
_SPREAD = np.array([0.05, 0.5, 0.95])
_DRAWS = 64
_NOISY = 400
"""Noisy predictions that a band is taken from."""


@dataclass(frozen=True)
class ResidualRange:
    """Within which values one parameter stays randomised."""

    name: str
    unit: str
    low: float
    high: float
    label: ValueSource
    """Inferred, measured, or randomised where the data said nothing."""
    episodes: tuple[str, ...]


@dataclass(frozen=True)
class RangeCheck:
    """How the ranges did on the validation episodes."""

    ranges: tuple[ResidualRange, ...]
    widening: float
    """By how much draws were moved away from their median; 1 when the posterior covered as it was."""
    coverage: float
    """Part of the validation data inside the predictive band, after widening; NaN without validation episodes."""
    expected: float
    misses: tuple[str, ...]
    """Range misses, in words."""


def residual_ranges(
    posterior: Belief,
    validation: Problem | None,
    levels: tuple[NoiseLevel, ...],
    *,
    prior: Belief,
    level: float,
    rng: np.random.Generator,
) -> tuple[Belief, RangeCheck]:
    """The posterior, widened where it has to be, and its ranges."""
    if validation is None:
        return posterior, RangeCheck(_ranges(posterior, level), 1.0, float("nan"), level, ())
    fewest = _fewest_inside(validation, level)
    coverage = 0.0
    for widening in _WIDENINGS:
        widened = _widened(posterior, widening, prior)
        coverage = band_coverage(widened, validation, levels, level=level, rng=rng)
        if coverage >= fewest:
            break
    misses = _misses(_WIDENINGS[0] < widening, widening, coverage >= fewest, coverage, level)
    return widened, RangeCheck(_ranges(widened, level), widening, coverage, level, misses)


def band_coverage(
    belief: Belief, problem: Problem, levels: tuple[NoiseLevel, ...], *, level: float, rng: np.random.Generator
) -> float:
    """Part of a problem's observations inside the band that a belief and the inferred noise predict for them."""
    chosen = belief.samples[rng.choice(len(belief.samples), size=_DRAWS, p=belief.weights)]
    predicted = problem.predict(chosen)
    predicted = predicted[np.all(np.isfinite(predicted), axis=1)]
    if len(predicted) < 8:
        return 0.0
    sd = problem.noise.scale * np.array([found.level for found in levels])[problem.noise.group]
    noise = sd * rng.standard_normal((_NOISY, len(sd))) * _stretches(problem.noise, rng)
    noisy = predicted[rng.integers(len(predicted), size=_NOISY)] + noise
    low, high = np.quantile(noisy, [0.5 * (1.0 - level), 0.5 * (1.0 + level)], axis=0)
    return float(np.mean((low <= problem.observed) & (problem.observed <= high)))


def _stretches(layout: NoiseLayout, rng: np.random.Generator) -> Float[np.ndarray, "#draw #m"]:
    """How much wider noise is than its level, for draws of it: Student's tails over blocks."""
    if layout.block is None:
        return np.ones((1, 1))
    _, block = np.unique(layout.block, return_inverse=True)
    freedom = layout.block_freedom
    return np.sqrt(freedom / rng.chisquare(freedom, size=(_NOISY, int(block.max()) + 1)))[:, block]


def _fewest_inside(problem: Problem, level: float) -> float:
    """The smallest part inside that chance allows; correlated residuals count as one per series."""
    series = len(np.unique(problem.noise.series))
    return binomial_bounds(series, level, confidence=0.99)[0] / series


def _widened(belief: Belief, factor: float, prior: Belief) -> Belief:
    if factor == 1.0:
        return belief
    columns = []
    for k, (parameter, values) in enumerate(zip(belief.parameters, belief.samples.T, strict=True)):
        is_log = parameter.transform == "log"
        scaled, before = (np.log(v) if is_log else v for v in (values, prior.samples[:, k]))
        low, middle, high = weighted_quantiles(scaled, belief.weights, _SPREAD)
        first, _, last = weighted_quantiles(before, prior.weights, _SPREAD)
        most = max(1.0, (last - first) / max(high - low, 1e-300))
        moved = middle + min(factor, most) * (scaled - middle)
        columns.append(np.clip(np.exp(moved) if is_log else moved, parameter.low, parameter.high))
    return replace(belief, samples=np.stack(columns, axis=1))


def _ranges(belief: Belief, level: float) -> tuple[ResidualRange, ...]:
    ends: Float[np.ndarray, "p 2"] = central_interval(belief.samples, belief.weights, level)
    return tuple(
        ResidualRange(p.name, p.unit, float(low), float(high), p.source, p.episodes)
        for p, (low, high) in zip(belief.parameters, ends, strict=True)
    )


def _misses(is_widened: bool, widening: float, is_covered: bool, coverage: float, level: float) -> tuple[str, ...]:
    if not is_covered:
        return (
            f"Range miss: even {widening:g} times wider, the ranges predict only {100.0 * coverage:.0f} % of the "
            f"validation data inside their {100.0 * level:.0f} % band; the model lacks something.",
        )
    if is_widened:
        return (f"Range miss: the ranges had to be made {widening:g} times wider to cover the validation episodes.",)
    return ()
