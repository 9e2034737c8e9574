"""How much longer one physics follows than another, over episodes, and what of that was cut short."""

import math
from collections.abc import Sequence

import numpy as np

from gemel.artifacts.capture import Domain
from gemel.artifacts.evidence import Claim, Following
from gemel.services.stats import ratio_interval
from gemel.services.stats.bootstrap import RESAMPLES
from gemel.stages.evaluate.claims import NOMINAL, POSTERIOR, PRIOR, make_claim
from gemel.stages.evaluate.compare import Compared, Key

_RATIOS = ("follow_time", "divergence_time")


def ratio_claims(
    results: Sequence[Compared], domains: tuple[Domain, ...], confidence: float, rng: np.random.Generator
) -> list[Claim]:
    """How much longer the posterior follows than the nominal physics and the prior do, episode by episode."""
    claims = []
    keys = dict.fromkeys(key for result in results for key in result.values)
    for key in keys:
        if key.name not in _RATIOS or key.physics != POSTERIOR:
            continue
        for other in (NOMINAL, PRIOR):
            rival = key._replace(physics=other)
            both = [r for r in results if key in r.values]
            pairs = np.array([(r.values[key], r.values[rival]) for r in both])
            ours, theirs = pairs.sum(axis=0).tolist()
            low, high, undefined = ratio_interval(pairs[:, 0], pairs[:, 1], rng, confidence=confidence)
            ratio = key._replace(name=f"{key.name}_ratio", unit="", physics=f"{POSTERIOR}/{other}")
            note = " ".join(filter(None, [_undefined(ours, theirs, undefined), _censored(both, key, other)]))
            claims.append(make_claim(ratio, _ratio(ours, theirs), (low, high), len(pairs), domains, confidence, note))
    return claims


def followings(results: Sequence[Compared]) -> tuple[Following, ...]:
    """How long each object was followed, episode by episode."""
    return tuple(
        Following(result.episode, *key, time.since_motion_s, time.since_start_s, time.is_censored)
        for result in results
        for key, time in result.follow_times.items()
    )


def _ratio(ours: float, theirs: float) -> float:
    if theirs > 0.0:
        return ours / theirs
    return math.inf if ours > 0.0 else math.nan


def _undefined(ours: float, theirs: float, undefined: int) -> str:
    if not ours and not theirs:
        return "Neither follows for any time, so that there is no ratio."
    if not undefined:
        return ""
    return f"{undefined} of {RESAMPLES} resamples had nothing on either side and were left out."


def _censored(results: Sequence[Compared], key: Key, other: str) -> str:
    """How many pairs were cut short by the end of the record, and what that does to the ratio."""
    times = [[r.follow_times.get((key.subject, p, key.drive)) for p in (POSTERIOR, other)] for r in results]
    cut = [[time is not None and time.is_censored for time in pair] for pair in times]
    ours, theirs = (sum(pair[side] for pair in cut) for side in (0, 1))
    if not ours and not theirs:
        return ""
    which = {
        (True, False): "the ratio is at least this",
        (False, True): "the ratio is at most this",
        (True, True): "which way that moves the ratio is not known",
    }[bool(ours), bool(theirs)]
    return (
        f"The record ended first in {sum(any(pair) for pair in cut)} of {len(cut)} episodes (for the {POSTERIOR} in "
        f"{ours}, for the {other} in {theirs}): {which}."
    )
