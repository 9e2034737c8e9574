"""From numbers per episode to claims over episodes, with intervals."""

import math
from collections.abc import Sequence

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.artifacts.capture import Domain
from gemel.artifacts.evidence import Claim, Curve, Range
from gemel.services.kinematics.arms import ALL
from gemel.services.stats import mean_interval, weighted_quantiles
from gemel.stages.evaluate.compare import Compared, Key

POSTERIOR, PRIOR, NOMINAL = "posterior", "prior", "nominal"
_SHOWN = np.array([0.05, 0.5, 0.95])


def mean_claims(
    results: Sequence[Compared], domains: tuple[Domain, ...], confidence: float, rng: np.random.Generator
) -> list[Claim]:
    """The mean over episodes of every number that was taken."""
    keys = dict.fromkeys(key for result in results for key in result.values)
    claims = []
    for key in keys:
        values = np.array([result.values[key] for result in results if key in result.values])
        low, high = mean_interval(values, rng, confidence=confidence)
        claims.append(make_claim(key, float(values.mean()), (low, high), len(values), domains, confidence))
    return claims


def repeat_claims(
    curves: Sequence[Curve], domains: tuple[Domain, ...], confidence: float, rng: np.random.Generator
) -> list[Claim]:
    """The real-vs-real floor: mean difference between repeats."""
    names = {"position": "position_error", "orientation": "orientation_error", "joints": "joint_rmse"}
    claims = []
    for subject, quantity, unit in dict.fromkeys((c.subject, c.quantity, c.unit) for c in curves):
        means = np.array([c.errors.mean() for c in curves if (c.subject, c.quantity) == (subject, quantity)])
        ends = mean_interval(means, rng, confidence=confidence)
        key = Key(names[quantity], unit, subject, "repeat", "")
        claims.append(make_claim(key, float(means.mean()), ends, len(means), domains, confidence))
    return claims


def gap_claims(results: Sequence[Compared], domains: tuple[Domain, ...], confidence: float) -> list[Claim]:
    """The largest distance and angle between the tool by the Denavit-Hartenberg table and by MuJoCo."""
    worst = np.array([np.max(result.gaps, axis=0) for result in results if result.gaps])  # (episode, 2) [m, rad]
    if not len(worst):
        return []
    distance_m, angle_rad = worst.max(axis=0).tolist()
    name = "tool_denavit_hartenberg_gap"
    found = {Key(name, "m", ALL, "", ""): distance_m, Key(f"{name}_angle", "deg", ALL, "", ""): math.degrees(angle_rad)}
    return [make_claim(key, value, (value, value), len(worst), domains, confidence) for key, value in found.items()]


def ranges_of(belief: Belief, physics: str, names: Sequence[str]) -> list[Range]:
    """Median and 90 % interval of each named parameter that the belief has."""
    found = []
    for parameter, column in zip(belief.parameters, belief.samples.T, strict=True):
        if parameter.name in names:
            low, median, high = weighted_quantiles(column, belief.weights, _SHOWN).tolist()
            found.append(Range(parameter.name, parameter.unit, physics, low, median, high))
    return found


def make_claim(
    key: Key,
    estimate: float,
    ends: tuple[float, float],
    n: int,
    domains: tuple[Domain, ...],
    confidence: float,
    note: str = "",
) -> Claim:
    """A claim about what the key says."""
    return Claim(
        key.name, key.unit, estimate, *ends, confidence, n, domains, key.subject, key.physics, key.drive, note
    )  # fmt: skip
