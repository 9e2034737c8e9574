"""Evidence as JSON and back; `evidence.schema.json` beside this file says what is where.

A ratio over nothing is the text "infinity", one that is nothing over nothing is null. Curves are rounded to six
significant digits.
"""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from gemel.artifacts.capture import Domain
from gemel.artifacts.evidence import Claim, Curve, Evidence, Failure, FailureLabel, Following, Range
from gemel.errors import SourceError

FORMAT, VERSION = "gemel-evidence", 2
SCHEMA_FILE = Path(__file__).with_name("evidence.schema.json")
_INFINITE = "infinity"
_NUMBERS = ("estimate", "low", "high")
_SERIES = ("times_s", "errors", "low", "high")


def evidence_json(evidence: Evidence) -> dict[str, Any]:
    """The tree that `evidence.json` holds."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "holdout": {
            "split": evidence.holdout,
            "episodes": list(evidence.episodes),
            "opening": evidence.opening,
            "openings_of_holdout": evidence.openings_of_holdout,
        },
        "claims": [_claim_json(claim) for claim in evidence.claims],
        "failures": [dataclasses.asdict(failure) for failure in evidence.failures],
        "cautions": list(evidence.cautions),
        "notes": list(evidence.notes),
        "followings": [dataclasses.asdict(item) for item in evidence.followings],
        "ranges": [dataclasses.asdict(item) for item in evidence.ranges],
        "followed_within": {"position_m": evidence.within_m, "rotation_deg": evidence.within_deg},
        "joint_error": {"weights": dict(evidence.weights), "scales": dict(evidence.scales)},
        "lineage": dict(evidence.lineage),
        "curves": [_curve_json(curve) for curve in evidence.curves],
    }


def write_evidence(evidence: Evidence, path: Path) -> None:
    """Write `evidence.json`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(evidence_json(evidence), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def evidence_from_json(tree: dict[str, Any]) -> Evidence:
    """The inverse of `evidence_json`."""
    if tree.get("format") != FORMAT or tree.get("version") != VERSION:
        raise SourceError(
            f"This is {tree.get('format')!r} version {tree.get('version')!r}; {FORMAT!r} version {VERSION} was "
            "expected.",
            remedy="give an evidence.json that `gemel evaluate` wrote",
        )
    holdout, joint_error = tree["holdout"], tree["joint_error"]
    return Evidence(
        claims=tuple(_claim(item) for item in tree["claims"]),
        failures=tuple(Failure(**{**item, "label": FailureLabel(item["label"])}) for item in tree["failures"]),
        holdout=holdout["split"],
        opening=holdout["opening"],
        lineage=tree["lineage"],
        episodes=tuple(holdout["episodes"]),
        openings_of_holdout=holdout["openings_of_holdout"],
        within_m=tree["followed_within"]["position_m"],
        within_deg=tree["followed_within"]["rotation_deg"],
        curves=tuple(_curve(item) for item in tree["curves"]),
        ranges=tuple(Range(**item) for item in tree["ranges"]),
        weights=joint_error["weights"],
        scales=joint_error["scales"],
        notes=tuple(tree["notes"]),
        followings=tuple(Following(**item) for item in tree["followings"]),
        cautions=tuple(tree["cautions"]),
    )


def _claim_json(claim: Claim) -> dict[str, Any]:
    return dataclasses.asdict(claim) | {name: _number_json(getattr(claim, name)) for name in _NUMBERS}


def _number_json(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return _INFINITE if math.isinf(value) else value


def _claim(item: dict[str, Any]) -> Claim:
    numbers = {k: {None: math.nan, _INFINITE: math.inf}.get(item[k], item[k]) for k in _NUMBERS}
    return Claim(**{**item, **numbers, "domains": tuple(Domain(name) for name in item["domains"])})


def _curve_json(curve: Curve) -> dict[str, Any]:
    tree = {field.name: getattr(curve, field.name) for field in dataclasses.fields(curve)}
    series = {name: None if tree[name] is None else [float(f"{v:.6g}") for v in tree[name]] for name in _SERIES}
    return tree | series


def _curve(item: dict[str, Any]) -> Curve:
    series = {name: None if item[name] is None else np.array(item[name], dtype=float) for name in _SERIES}
    return Curve(**{**item, **series})
