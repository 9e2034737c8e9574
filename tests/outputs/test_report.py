import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from gemel.artifacts.evidence import Claim, Curve, Evidence
from gemel.errors import SourceError
from gemel.outputs.report.evidence_json import SCHEMA_FILE, evidence_from_json, evidence_json
from gemel.outputs.report.headline import headline
from gemel.outputs.report.page import Picture, Proof, report_page
from outputs.schema_check import problems
from sample_artifacts import samples

_PROOF = Proof(True, ("0",), (), ("2026-01-01 for twin bbbbbbbb (ledger entry 9)",), 1, "cc" * 32)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return next(sample for sample in samples() if isinstance(sample, Evidence))


def test_evidence_survives_json_and_keeps_its_schema(evidence: Evidence) -> None:
    """Through text and back nothing is lost, neither infinite nor undefined numbers; what is forbidden is caught."""
    schema = json.loads(SCHEMA_FILE.read_text())
    tree = json.loads(json.dumps(evidence_json(evidence), allow_nan=False))
    assert problems(tree, schema) == []
    back = evidence_from_json(tree)
    assert repr(back.claims) == repr(evidence.claims)  # not a number is not equal to itself
    assert (tree["claims"][0]["high"], tree["claims"][1]["high"]) == ("infinity", None)
    assert (back.followings, back.cautions) == (evidence.followings, evidence.cautions)
    assert back.failures == evidence.failures
    assert (back.ranges, back.notes, back.episodes) == (evidence.ranges, evidence.notes, evidence.episodes)
    assert (back.holdout, back.opening, back.openings_of_holdout) == ("aa" * 32, 1, 2)
    assert (back.within_m, back.within_deg) == (0.02, 5.0)
    assert (dict(back.weights), dict(back.scales), dict(back.lineage)) == (
        dict(evidence.weights), dict(evidence.scales), dict(evidence.lineage),
    )  # fmt: skip
    for one, two in zip(back.curves, evidence.curves, strict=True):
        assert np.allclose(one.errors, two.errors, rtol=1e-5)
        assert (one.low is None) == (two.low is None)
    del tree["claims"][0]["n"]
    tree["curves"][0]["drive"] = "magic"
    tree["claims"][1]["low"] = "much"
    assert [p.split(":")[0] for p in problems(tree, schema)] == [
        "$.claims[0]", "$.claims[1].low", "$.curves[0].drive",
    ]  # fmt: skip
    with pytest.raises(SourceError, match="'gemel-evidence' version 2 was expected"):
        evidence_from_json({"format": "other"})


class _Page(HTMLParser):
    """Collects what a page would load, and checks that its elements are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.open: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_but_itself(evidence: Evidence) -> None:
    """No script, no address, pictures inside; notes are text and not markup; both colour schemes are there."""
    page = report_page(evidence, name="my <project>", proof=_PROOF, pictures=[Picture("real and twin", b"\x89PNG")])
    found = _Page()
    found.feed(page)
    assert found.open == []
    assert all(load.startswith("data:image/png;base64,") for load in found.loads)
    assert len(found.loads) == 1
    assert "script" not in found.tags
    assert not re.search(r"https?:|url\(|@import", page)
    assert "&lt;b&gt;noted&lt;/b&gt;" in page
    assert "my &lt;project&gt;" in page
    assert "prefers-color-scheme: dark" in page
    assert page.count('role="img"') == len({(c.episode, c.quantity, c.drive) for c in evidence.curves})
    assert "Proved: no fitting stage has read any of the 1 held-out episodes" in page
    assert "{{" not in page


def test_the_page_says_what_is_wrong(evidence: Evidence) -> None:
    """A refuted audit and a second opening stand at the top."""
    proof = replace(_PROOF, is_clean=False, offences=("Twin ← read of episode '3'",))
    page = report_page(replace(evidence, opening=2), name="p", proof=proof)
    assert "Refuted: Twin ← read of episode" in page
    assert 'class="bad">This is opening 2 of the holdout for this twin' in page


def _rows(page: str) -> dict[str, list[str]]:
    """Cells of every row of tables, by what its heading says; rows with one heading one after the other."""
    rows: dict[str, list[str]] = {}
    for head, cells in re.findall(r'<tr><th scope="row">([^<]*)</th>(.*?)</tr>', page):
        rows.setdefault(head, []).extend(re.findall(r"<td[^>]*>([^<]*)</td>", cells))
    return rows


@pytest.mark.parametrize("arms", [("arm",), ("left", "right")])
def test_what_is_told_of_the_robot_is_on_the_page(evidence: Evidence, arms: tuple[str, ...]) -> None:
    """With one arm `all` is not told twice, but what repeats say of it is; gaps are there, and the true confidence."""

    def claim(name: str, subject: str, physics: str, value: float, unit: str = "", n: int = 3) -> Claim:
        drive = "actions" if physics == "posterior" else ""
        return Claim(name, unit, value, value, value, 0.8, n, (), subject, physics, drive)

    times = np.array([0.0, 0.1])
    claims = (
        *(claim("joint_rmse", arm, "posterior", 0.111) for arm in arms),
        claim("joint_rmse", "all", "posterior", 0.222),
        claim("joint_rmse", "all", "repeat", 0.0777),
        claim("tool_denavit_hartenberg_gap", "all", "", 0.00055, "m"),
        claim("tool_denavit_hartenberg_gap_angle", "all", "", 0.25, "deg"),
    )
    curves = (
        *(Curve("0", arm, "joints", "", "posterior", "actions", times, times) for arm in (*arms, "all")),
        Curve("0 and 1", "all", "joints", "", "repeat", "", times, times),
    )
    page = report_page(replace(evidence, claims=claims, curves=curves), name="p", proof=_PROOF)
    rows = _rows(page)
    together = "arm" if len(arms) == 1 else "all"
    driven = "driven by the recorded actions"
    title = "normalised joint RMSE, mean over time"
    assert rows[f"{together}: {title}"] == [driven, "0.111" if len(arms) == 1 else "0.222", "0.0777", "3"]
    assert len([head for head in rows if head.endswith(title)]) == (1 if len(arms) == 1 else 3)
    assert rows["all: tool by Denavit-Hartenberg table against MuJoCo, distance"] == ["0.55 mm", "3"]
    assert rows["all: tool by Denavit-Hartenberg table against MuJoCo, angle"] == ["0.25°", "3"]
    assert "episodes; 80 % intervals from drawing" in page
    assert "95 %" not in page
    assert 'class="line repeat"' in page
    assert page.count(f"<h3>{together}: normalised joint RMSE</h3>") == 1


def test_the_headline_states_ratio_interval_and_n(evidence: Evidence) -> None:
    """The main claim is told with everything that belongs to it."""
    common = {"confidence": 0.95, "n": 4, "domains": (), "subject": "mug", "drive": "logged"}
    claims = (
        Claim("follow_time_ratio", "", 2.5, 1.25, math.inf, physics="posterior/nominal", **common),
        Claim("follow_time", "s", 2.0, 1.0, 3.0, physics="posterior", **common),
        Claim("follow_time", "s", 0.8, 0.5, 1.0, physics="nominal", **common),
    )
    errors = [
        Claim(name, unit, 0.004 + 0.001 * i, 0.0, 1.0, physics=physics, **common)
        for i, physics in enumerate(("posterior", "prior", "nominal"))
        for name, unit in (("position_error", "m"), ("orientation_error", "deg"))
    ]
    page = report_page(replace(evidence, claims=(*claims, *errors)), name="p", proof=_PROOF)
    assert "follows mug for 2.00 s of its motion, the nominal one for 0.80 s: 2.50 times as long" in page
    assert "95 % interval 1.25 to ∞, n = 4 episodes). Mean errors: fitted 4.0 mm" in page
    assert "prior 5.0 mm" in page
    assert "nominal 6.0 mm" in page
    assert "2 cm or 5 degrees" in page
    unsure = replace(claims[0], low=0.9)
    assert "n = 4 episodes); that it follows longer is not shown." in headline(replace(evidence, claims=(unsure,)))
    two = (claims[0], replace(claims[0], subject="bowl"))
    assert "follows mug" in headline(replace(evidence, claims=two))
    assert "follows bowl" in headline(replace(evidence, claims=two))


def test_nothing_seen_is_not_called_still(evidence: Evidence) -> None:
    """Without a claim about any object, none was followed; with errors and no follow times, none moves."""
    error = Claim("position_error", "m", 0.1, 0.0, 0.2, 0.95, 1, (), "mug", "posterior", "logged")
    assert "no object was followed" in headline(replace(evidence, claims=()))
    assert "no object moves" in headline(replace(evidence, claims=(error,)))


def test_follow_times_and_cautions_are_on_the_page(evidence: Evidence) -> None:
    """Episode by episode, censored ones marked; cautions stand at the top, as text."""
    other = replace(evidence.followings[0], physics="nominal", since_motion_s=0.25, is_censored=False)
    page = report_page(replace(evidence, followings=(*evidence.followings, other)), name="p", proof=_PROOF)
    assert _rows(page)["mug: episode 0"] == ["led along the logged joints", "≥ 1.50 s", "0.25 s"]
    assert page.index("not &lt;i&gt;shown&lt;/i&gt;") < page.index("<h2>Claims</h2>")
