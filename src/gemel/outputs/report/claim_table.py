"""Claims as tables: one row per quantity, one column per physics."""

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import TypeVar

from gemel.artifacts.evidence import Claim, Curve
from gemel.outputs.report.html_table import table

_TITLES = {
    "follow_time": "followed, from its first motion",
    "divergence_time": "followed, from the first frame",
    "position_error": "position error, mean over time",
    "orientation_error": "orientation error, mean over time",
    "inside_band_position": "share of the record inside the 90 % band, position",
    "inside_band_orientation": "share of the record inside the 90 % band, orientation",
    "inside_band_position_moving": "share inside the 90 % band from its first motion on, position",
    "inside_band_orientation_moving": "share inside the 90 % band from its first motion on, orientation",
    "joint_rmse": "normalised joint RMSE, mean over time",
    "tool_position_error": "tool position error, mean over time",
    "tool_orientation_error": "tool orientation error, mean over time",
    "tool_denavit_hartenberg_gap": "tool by Denavit-Hartenberg table against MuJoCo, distance",
    "tool_denavit_hartenberg_gap_angle": "tool by Denavit-Hartenberg table against MuJoCo, angle",
    "follow_time_ratio": "times as long, from its first motion",
    "divergence_time_ratio": "times as long, from the first frame",
}
_SHOWN = {"m": ("mm", 1e3), "deg": ("°", 1.0), "s": ("s", 1.0), "": ("", 1.0)}
DRIVES = {"logged": "led along the logged joints", "actions": "driven by the recorded actions", "": ""}
PHYSICS = ("posterior", "prior", "nominal", "repeat")
_ALL = "all"
_Item = TypeVar("_Item", Claim, Curve)


def value_text(claim: Claim) -> str:
    """`1.2 mm (0.9 to 1.6)`."""
    unit, factor = _SHOWN.get(claim.unit, (claim.unit, 1.0))
    estimate, low, high = (_number(factor * value) for value in (claim.estimate, claim.low, claim.high))
    if math.isnan(claim.estimate):
        return estimate
    has_ends = not math.isnan(claim.low) and (claim.low, claim.high) != (claim.estimate, claim.estimate)
    inside = f" ({low} to {high})" if has_ends else ""
    return f"{estimate}{' ' if unit and unit != '°' else ''}{unit}{inside}"


def physics_table(claims: Sequence[Claim]) -> str:
    """Means over episodes, physics side by side."""
    shown = [claim for claim in claims if claim.physics in PHYSICS]
    shown = by_arm(shown, [claim.subject for claim in shown if claim.name == "joint_rmse"])
    columns = [name for name in PHYSICS if any(claim.physics == name for claim in shown)]
    rows = dict.fromkeys((claim.subject, claim.name) for claim in shown)
    body = []
    for subject, name in rows:
        drives = dict.fromkeys(c.drive for c in shown if (c.subject, c.name) == (subject, name) and c.drive)
        for drive in drives or {"": None}:
            found = {c.physics: c for c in shown if (c.subject, c.name) == (subject, name) and c.drive in (drive, "")}
            cells = "".join(
                f'<td class="number">{escape(value_text(found[p])) if p in found else ""}</td>' for p in columns
            )
            n = max(claim.n for claim in found.values())
            body.append(
                f'<tr><th scope="row">{escape(subject)}: {escape(_TITLES.get(name, name))}</th>'
                f"<td>{escape(DRIVES[drive])}</td>{cells}<td>{n}</td></tr>"
            )
    titles = [name if name != "repeat" else "real against real" for name in columns]
    caption = f"Means over held-out episodes; {_intervals_text(shown)} from drawing episodes with replacement."
    return table(["what", "robot", *titles, "n"], body, caption)


def by_arm(items: Sequence[_Item], subjects: Sequence[str]) -> list[_Item]:
    """What is told of the robot, `subjects` being its arms and `all`; with one arm only, all of it under its name.

    A twin says of `all` what it says of a single arm already. Repeats are told of `all` alone.
    """
    arms = set(subjects) - {_ALL}
    if len(arms) != 1:
        return list(items)
    (arm,) = arms
    kept = [item for item in items if item.subject != _ALL or item.physics == "repeat"]
    return [replace(item, subject=arm) if item.subject == _ALL else item for item in kept]


def gap_table(claims: Sequence[Claim]) -> str:
    """How far two ways to the tool are apart; nothing without a robot."""
    body = [
        f'<tr><th scope="row">{escape(c.subject)}: {escape(_TITLES.get(c.name, c.name))}</th>'
        f'<td class="number">{escape(value_text(c))}</td><td>{c.n}</td></tr>'
        for c in claims
        if c.name.startswith("tool_denavit_hartenberg_gap")
    ]
    if not body:
        return ""
    caption = "Largest differences over held-out episodes; beyond rounding there should be none."
    return table(["what", "difference", "n"], body, caption)


def ratio_table(claims: Sequence[Claim]) -> str:
    """How much longer the fitted twin follows."""
    body = [
        f'<tr><th scope="row">{escape(c.subject)}: {escape(_TITLES.get(c.name, c.name))}</th>'
        f"<td>{escape(c.physics)}</td><td>{escape(DRIVES[c.drive])}</td>"
        f'<td class="number">{escape(value_text(c))}</td><td>{c.n}</td><td>{escape(c.note)}</td></tr>'
        for c in claims
        if c.name.endswith("_ratio")
    ]
    caption = "Ratios of sums over episodes; episodes are drawn in pairs."
    return table(["what", "between", "robot", "ratio", "n", "to be read with it"], body, caption)


def _intervals_text(claims: Sequence[Claim]) -> str:
    """`95 % intervals`, as the claims have them."""
    values = sorted({claim.confidence for claim in claims})
    return " ".join([" and ".join(f"{100.0 * value:g} %" for value in values), "intervals"]).strip()


def _number(value: float) -> str:
    if math.isnan(value):
        return "undefined"
    if value == float("inf"):
        return "∞"
    return f"{value:.3g}" if abs(value) < 1000.0 else f"{value:.0f}"
