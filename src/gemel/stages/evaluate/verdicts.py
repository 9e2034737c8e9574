"""What the claims do not show, and where the twin is surer than it should be."""

import math
from collections.abc import Sequence

from gemel.artifacts.evidence import Claim
from gemel.artifacts.finding import Finding, Severity
from gemel.stages.evaluate.bands import BAND
from gemel.stages.evaluate.claims import NOMINAL, POSTERIOR
from gemel.stages.evaluate.replay import ACTIONS, LOGGED

_LED = {LOGGED: "led along the log", ACTIONS: "driven by the recorded actions"}
_FEWEST = 3
"""Episodes; the spread of fewer says nothing."""


def not_shown(claims: Sequence[Claim]) -> list[Finding]:
    """Of each object and drive: whether following longer than the nominal physics may be chance."""
    ratios = [c for c in claims if c.name == "follow_time_ratio" and c.physics == f"{POSTERIOR}/{NOMINAL}"]
    return [
        Finding(
            "not-shown", Severity.WARNING,
            f"Not shown: that the fitted twin follows {c.subject} longer than the nominal one, {_LED[c.drive]}: "
            f"{_times(c)}.",
            "hold out more episodes with motion, or look at where the twin is lost (docs/evaluate.md)",
            stream=f"{c.subject}, {c.drive}", value=c.estimate,
        )
        for c in ratios
        if not c.low > 1.0
    ]  # fmt: skip


def _times(claim: Claim) -> str:
    count = f"n = {claim.n} episodes"
    if math.isnan(claim.estimate):
        return f"neither is followed for any time, {count}"
    if math.isnan(claim.low):
        return f"{claim.estimate:.2f} times as long, but one episode has no interval"
    interval = f"{100.0 * claim.confidence:g} % interval {claim.low:.2f} to {claim.high:.2f}"
    return f"{claim.estimate:.2f} times as long, {interval}, {count}"


def overconfident(claims: Sequence[Claim]) -> list[Finding]:
    """Of each object and drive: whether clearly less of the motion is inside the posterior's band than the band says.

    Frames of one episode are not independent of each other, so that the interval over episodes decides.
    """
    parts = [f"inside_band_{part}_moving" for part in ("position", "orientation")]
    outside = [
        c for c in claims
        if c.name in parts and c.physics == POSTERIOR and c.n >= _FEWEST and c.high < BAND
    ]  # fmt: skip
    groups: dict[tuple[str, str], list[Claim]] = {}
    for claim in outside:
        groups.setdefault((claim.subject, claim.drive), []).append(claim)
    return [
        Finding(
            "overconfident", Severity.WARNING,
            f"Overconfident about {subject}, {_LED[drive]}: of its motion, the {100.0 * BAND:g} % band of the "
            f"posterior holds {_shares(own)}.",
            "do not trust the belief's width: widen it for training, and look at what the scene leaves out",
            stream=f"{subject}, {drive}", value=own[0].estimate,
        )
        for (subject, drive), own in groups.items()
    ]  # fmt: skip


def _shares(claims: Sequence[Claim]) -> str:
    return " and ".join(
        f"{100.0 * c.estimate:.0f} % of the {c.name.split('_')[2]} ({100.0 * c.low:.0f} to {100.0 * c.high:.0f} %)"
        for c in claims
    )
