"""The main result in sentences: ratio, interval and n, and what is not shown."""

import math

from gemel.artifacts.evidence import Claim, Evidence

_PHYSICS = {"posterior": "fitted", "prior": "prior", "nominal": "nominal"}
_DRIVE = "logged"


def headline(evidence: Evidence) -> str:
    """One sentence or two for each object, robots led along their logs."""
    ratios = [
        c for c in evidence.claims
        if (c.name, c.physics, c.drive) == ("follow_time_ratio", "posterior/nominal", _DRIVE)
    ]  # fmt: skip
    if not ratios:
        was_seen = any(claim.name == "position_error" and claim.physics != "repeat" for claim in evidence.claims)
        why = "no object moves in any of them" if was_seen else "no object was followed in any of them"
        return f"{len(evidence.episodes)} held-out episodes were replayed; {why}."
    told = " ".join(f"{_about(evidence, ratio)} {_errors(evidence, ratio.subject)}" for ratio in ratios)
    return f"Led along the logged joints: {told} Following ends at {bounds_text(evidence)} of error."


def bounds_text(evidence: Evidence) -> str:
    """`1 cm or 10 degrees`."""
    return f"{100.0 * evidence.within_m:g} cm or {evidence.within_deg:g} degrees"


def _about(evidence: Evidence, ratio: Claim) -> str:
    ours, theirs = (_mean(evidence, "follow_time", ratio.subject, physics) for physics in ("posterior", "nominal"))
    times = (
        f"the fitted twin follows {ratio.subject} for {ours:.2f} s of its motion, the nominal one for {theirs:.2f} s"
    )
    if math.isnan(ratio.estimate):
        return f"{times} (n = {ratio.n} episodes)."
    ends = f"{round(100 * ratio.confidence)} % interval {_number(ratio.low)} to {_number(ratio.high)}"
    sure = "one episode has no interval" if math.isnan(ratio.low) else f"{ends}, n = {ratio.n} episodes"
    verdict = "" if ratio.low > 1.0 else "; that it follows longer is not shown"
    return f"{times}: {_number(ratio.estimate)} times as long ({sure}){verdict}."


def _errors(evidence: Evidence, subject: str) -> str:
    """Mean errors under each physics."""
    parts = [
        f"{words} {1e3 * _mean(evidence, 'position_error', subject, physics):.1f} mm and "
        f"{_mean(evidence, 'orientation_error', subject, physics):.1f}°"
        for physics, words in _PHYSICS.items()
    ]
    return f"Mean errors: {', '.join(parts)}."


def _mean(evidence: Evidence, name: str, subject: str, physics: str) -> float:
    claim = evidence.claim(name, subject=subject, physics=physics, drive=_DRIVE)
    return claim.estimate if claim is not None else math.nan


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.2f}"
