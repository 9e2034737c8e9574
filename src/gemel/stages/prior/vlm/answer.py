"""One reply read: the first JSON object in it, number by number; what is absurd is left out and said."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gemel.stages.prior.vlm.prompt import QUANTITIES

_REFUSALS = ("i can't", "i cannot", "i can’t", "i'm sorry", "i’m sorry", "unable to", "i am not able", "as an ai")
_BRACES_TRIED = 50
"""Opening braces at which an object is looked for; a text that goes on like that is none."""


@dataclass(frozen=True)
class Estimate:
    """A value with the standard deviation that the model itself gives it."""

    value: float
    sigma: float


@dataclass(frozen=True)
class Answer:
    """What one reply says, in the units of the question."""

    status: str
    """`ok`, or why it is of no use: the reply's own status, `refused`, `malformed` or `absurd`."""
    material: str = ""
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    rejected: tuple[str, ...] = ()
    """What was left out, and why."""


def read_answer(text: str, limits: Mapping[str, tuple[float, float]]) -> Answer:
    """Values and sigmas within limits; `limits` are what is possible, by quantity."""
    tree = first_json_object(text)
    if tree is None:
        is_refusal = any(words in text.lower() for words in _REFUSALS)
        return Answer("refused" if is_refusal else "malformed")
    estimates, rejected = {}, []
    for name in QUANTITIES:
        found = _estimate(tree.get(name), limits[name])
        if isinstance(found, Estimate):
            estimates[name] = found
        else:
            rejected.append(f"{name}: {found}")
    material = tree.get("material")
    return Answer("ok" if estimates else "absurd", str(material or "")[:60], estimates, tuple(rejected))


def first_json_object(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text that may say other things around it; None without one."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    start = -1
    for _ in range(_BRACES_TRIED):
        start = text.find("{", start + 1)
        if start < 0:
            return None
        try:
            tree, _end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        return tree if isinstance(tree, dict) else None
    return None


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _estimate(given: Any, limits: tuple[float, float]) -> Estimate | str:
    """The estimate, or why it is none."""
    if not isinstance(given, dict) or "value" not in given:
        return f"no value, but {given!r}"[:200]
    value, sigma = (_number(given.get(key)) for key in ("value", "sigma"))
    if value is None or sigma is None:
        return f"value {given['value']!r} and sigma {given.get('sigma')!r} are not both numbers"[:200]
    if not (math.isfinite(value) and limits[0] <= value <= limits[1]):
        return f"value {value:.4g} is outside {limits[0]:.4g} to {limits[1]:.4g}"
    if not (math.isfinite(sigma) and 0.0 < sigma <= limits[1] - limits[0]):
        return f"sigma {sigma:.4g} is not between 0 and {limits[1] - limits[0]:.4g}"
    return Estimate(value, sigma)


def _number(given: Any) -> float | None:
    """A number as a float; whole numbers too large for one are infinite; None for anything else."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    try:
        return float(given)
    except OverflowError:
        return math.inf
