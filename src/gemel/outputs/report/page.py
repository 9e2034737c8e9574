"""The report: one HTML page that needs nothing but itself, in light or dark, without scripts."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from gemel.artifacts.evidence import Curve, Evidence
from gemel.outputs.report.claim_table import PHYSICS, by_arm, gap_table, physics_table, ratio_table
from gemel.outputs.report.follow_table import follow_table
from gemel.outputs.report.headline import bounds_text, headline
from gemel.outputs.report.html_table import table
from gemel.outputs.report.line_chart import Line, line_chart

_TEMPLATE = Path(__file__).with_name("page.html")
_QUANTITIES = {
    "position": ("object position", "mm", 1e3),
    "orientation": ("object orientation", "°", 1.0),
    "joints": ("normalised joint RMSE", "", 1.0),
    "tool_position": ("tool position", "mm", 1e3),
    "tool_orientation": ("tool orientation", "°", 1.0),
}
_ROBOT = ("joints", "tool_position", "tool_orientation")
_DRIVES = {"logged": "the robot led along its logged joints", "actions": "the robot driven by the recorded actions"}


@dataclass(frozen=True)
class Proof:
    """What the audit says of the twin."""

    is_clean: bool
    holdout: tuple[str, ...]
    offences: tuple[str, ...]
    openings: tuple[str, ...]
    refusals: int
    ledger_head: str


@dataclass(frozen=True)
class Picture:
    """A picture of the record beside the twin."""

    name: str
    png: bytes


def report_page(evidence: Evidence, *, name: str, proof: Proof, pictures: Sequence[Picture] = ()) -> str:
    """The page as text."""
    body = "\n".join([
        f"<h1>{escape(name)}: what the twin is worth on episodes that it has never seen</h1>",
        f'<p class="lead">{escape(headline(evidence))}</p>',
        _cautions(evidence),
        _opened(evidence, proof),
        "<h2>Claims</h2>",
        ratio_table(evidence.claims),
        follow_table(evidence.followings),
        physics_table(evidence.claims),
        gap_table(evidence.claims),
        _notes(evidence),
        _object_figures(evidence),
        _robot_figures(evidence),
        _beliefs(evidence),
        _pictures(pictures),
        _joints(evidence),
        _lineage(evidence, proof),
    ])  # fmt: skip
    text = _TEMPLATE.read_text(encoding="utf-8")
    return text.replace("{{title}}", escape(f"{name}: evidence")).replace("{{body}}", body)


def _cautions(evidence: Evidence) -> str:
    items = "".join(f"<li>{escape(words)}</li>" for words in evidence.cautions)
    return f'<ul class="bad">{items}</ul>' if items else ""


def _opened(evidence: Evidence, proof: Proof) -> str:
    verdict = (
        f'<span class="good">Proved: no fitting stage has read any of the {len(proof.holdout)} held-out episodes, '
        "nor a copy of one.</span>"
        if proof.is_clean
        else f'<span class="bad">Refuted: {escape("; ".join(proof.offences))}</span>'
    )
    again = ' class="bad"' if evidence.opening > 1 else ""
    return (
        f"<p>{verdict} <span{again}>This is opening {evidence.opening} of the holdout for this twin, and "
        f"{evidence.openings_of_holdout} for any twin</span> (episodes {escape(', '.join(evidence.episodes))}).</p>"
    )


def _notes(evidence: Evidence) -> str:
    return "<h3>To be read with them</h3><ul>" + "".join(f"<li>{escape(n)}</li>" for n in evidence.notes) + "</ul>"


def _chart(title: str, curves: Sequence[Curve], label: str, bound: float | None) -> str:
    _, unit, factor = _QUANTITIES[curves[0].quantity]
    lines = [
        Line(getattr(c, label), c.times_s, factor * c.errors,
             None if c.low is None else factor * c.low, None if c.high is None else factor * c.high)
        for c in curves
    ]  # fmt: skip
    return line_chart(title, lines, x_label="time [s]", y_label=f"[{unit}]" if unit else "", bound=bound)


def _object_figures(evidence: Evidence) -> str:
    """For each object, drive and quantity: one chart per episode, physics side by side."""
    parts = ["<h2>Objects over time</h2>", _legend(PHYSICS[:3], bounds_text(evidence))]
    bounds = {"position": 1e3 * evidence.within_m, "orientation": evidence.within_deg}
    groups = dict.fromkeys((c.subject, c.drive, c.quantity) for c in evidence.curves if c.quantity not in _ROBOT)
    for subject, drive, quantity in groups:
        own = [c for c in evidence.curves if (c.subject, c.drive, c.quantity) == (subject, drive, quantity)]
        how = _DRIVES.get(drive, "two real episodes with the same start and actions")
        parts.append(f"<h3>{escape(subject)}: {_QUANTITIES[quantity][0]} error, {how}</h3>")
        parts.append('<div class="charts">')
        for episode in dict.fromkeys(c.episode for c in own):
            curves = sorted((c for c in own if c.episode == episode), key=lambda c: -PHYSICS.index(c.physics))
            parts.append(_chart(f"episode {episode}", curves, "physics", bounds.get(quantity)))
        parts.append("</div>")
    return "\n".join(parts)


def _robot_figures(evidence: Evidence) -> str:
    """For each arm and quantity: one chart per episode, both drives, under the posterior; then repeats."""
    own = [c for c in evidence.curves if c.quantity in _ROBOT and c.physics in ("posterior", "repeat")]
    own = by_arm(own, [c.subject for c in own])
    parts = [
        "<h2>Robot over time</h2>",
        "<p>Solid: driven by the recorded actions. Dashed: led along its log. Two episodes: one real against the other."
        "</p>",
    ]
    for subject, quantity in dict.fromkeys((c.subject, c.quantity) for c in own):
        parts.append(f"<h3>{escape(subject)}: {_QUANTITIES[quantity][0]}</h3>")
        parts.append('<div class="charts">')
        curves = [c for c in own if (c.subject, c.quantity) == (subject, quantity)]
        for episode in dict.fromkeys(c.episode for c in curves):
            shown = [c for c in curves if c.episode == episode]
            parts.append(_chart(f"episode {episode}", shown, "drive" if shown[0].drive else "physics", None))
        parts.append("</div>")
    return "\n".join(parts) if own else ""


def _legend(names: Sequence[str], level: str) -> str:
    words = {
        "posterior": "posterior: fitted to calibration episodes (solid; band: nine in ten draws)",
        "prior": "prior: before anything was touched (dashed, with band)",
        "nominal": "nominal: the mean of what the shape alone says (dotted)",
    }
    items = "".join(
        f'<li><svg width="14" height="10" aria-hidden="true"><rect class="key {name}" width="14" height="10"/></svg> '
        f"{words[name]}</li>"
        for name in names
    )
    return f"<ul>{items}<li>dotted level: {level}</li></ul>"


def _beliefs(evidence: Evidence) -> str:
    """What each physics holds of each parameter."""
    rows = []
    for parameter in dict.fromkeys(item.parameter for item in evidence.ranges):
        own = {item.physics: item for item in evidence.ranges if item.parameter == parameter}
        cells = "".join(
            f'<td class="number">{own[p].median:.3g} ({own[p].low:.3g} to {own[p].high:.3g})</td>' if p in own
            else "<td>as the model has it</td>"
            for p in ("prior", "posterior", "nominal")
        )  # fmt: skip
        unit = next(iter(own.values())).unit
        rows.append(f'<tr><th scope="row"><code>{escape(parameter)}</code></th><td>{escape(unit)}</td>{cells}</tr>')
    columns = ["parameter", "unit", "prior", "posterior", "nominal"]
    return f"<h2>What is believed</h2>{table(columns, rows, 'Medians and 90 % intervals.')}"


def _pictures(pictures: Sequence[Picture]) -> str:
    if not pictures:
        return ""
    figures = "".join(
        f'<figure><img alt="{escape(p.name)}" src="data:image/png;base64,{base64.b64encode(p.png).decode()}">'
        f"<figcaption>{escape(p.name)}</figcaption></figure>"
        for p in pictures
    )
    return f"<h2>Record and twin</h2>{figures}"


def _joints(evidence: Evidence) -> str:
    if not evidence.weights:
        return ""
    rows = [
        f'<tr><th scope="row"><code>{escape(name)}</code></th><td class="number">{weight:.4g}</td>'
        f'<td class="number">{evidence.scales[name]:.4g}</td></tr>'
        for name, weight in evidence.weights.items()
    ]
    return (
        "<h2>Weights and scales of the joint error</h2>"
        "<p>RMSE(t) = √(Σ w (q<sub>twin</sub> − q<sub>record</sub>)² / Δq²)"
        f" for an arm; over all arms the mean of the squares.</p>{table(['joint', 'w', 'Δq [rad or m]'], rows)}"
    )


def _lineage(evidence: Evidence, proof: Proof) -> str:
    rows = [
        f'<tr><th scope="row">{escape(stage)}</th><td><code>{escape(address)}</code></td></tr>'
        for stage, address in evidence.lineage.items()
    ]
    openings = "".join(f"<li>{escape(opening)}</li>" for opening in proof.openings)
    return (
        f"<h2>Lineage</h2>{table(['stage', 'artifact'], rows)}"
        f"<p>Ledger whole up to <code>{escape(proof.ledger_head)}</code>; reads of sealed episodes that were refused: "
        f"{proof.refusals}. <code>gemel audit</code> repeats this proof. Keep this page: a ledger whose end was "
        "cut off and rewritten does not come to this entry any more.</p>"
        f"<h3>Openings of the holdout</h3><ol>{openings}</ol>"
    )
