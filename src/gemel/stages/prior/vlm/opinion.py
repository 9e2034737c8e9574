"""The answers of a model as an opinion: fused, spread honestly, and turned into the object's units."""

from collections.abc import Sequence

import numpy as np

from gemel.artifacts.belief import ValueSource
from gemel.artifacts.finding import Finding, Severity
from gemel.stages.prior.material_table import Draws, within
from gemel.stages.prior.model import AXES, COM, TABLE, Model
from gemel.stages.prior.opinion import Opinion
from gemel.stages.prior.vlm.answer import Estimate
from gemel.stages.prior.vlm.ask import Asked
from gemel.stages.prior.vlm.fuse import fuse, in_logs

_LEAST_RELATIVE = 0.05
"""No answer is surer than 5 % of a mass or of a friction coefficient."""
_LEAST_ALONG = 0.02
"""No answer is surer than 1 % of the object's length, or than 0.02 of restitution."""


def vlm_opinion(
    model: Model, asked: Sequence[Asked], count: int, rng: np.random.Generator
) -> tuple[Opinion, tuple[Finding, ...]]:
    """Draws of everything that enough answers spoke of, and what went wrong with the others."""
    draws: dict[str, Draws] = {}
    said: dict[str, str] = {}
    for item in asked:
        for name, quantity, estimate, is_log in _estimates(model, item):
            spread = "a factor of " + f"{np.exp(estimate.sigma):.3g}" if is_log else f"± {estimate.sigma:.3g}"
            value = np.exp(estimate.value) if is_log else estimate.value
            said[name] = f"{item.model}, {_count(item, quantity)} answers: {value:.3g}, {spread}"
            draws[name] = _drawn(model, name, estimate, is_log, count, rng)
        coms = [f"object/{item.object}/{what}" for what in COM]
        if all(name in draws for name in coms):
            solid = model.solid_from_object[item.object]
            com = solid.pulled_into_hull(np.stack([draws[name] for name in coms], axis=1))
            draws |= dict(zip(coms, com.T, strict=True))
    sources = dict.fromkeys(draws, ValueSource.GENERATED)
    return Opinion("vlm", draws, sources, said=said), tuple(f for item in asked for f in _findings(item))


def _estimates(model: Model, item: Asked) -> list[tuple[str, str, Estimate, bool]]:
    """Parameter, quantity, fused estimate in SI units, and whether it is of the logarithm."""
    solid, found = model.solid_from_object[item.object], []
    places = {"mass_kg": f"object/{item.object}/mass", "friction": f"contact/{item.object}-{TABLE}/friction"}
    for quantity, name in places.items():
        answers = [in_logs(a.estimates[quantity]) for a in item.good if quantity in a.estimates]
        fused = fuse(answers, least_sigma=_LEAST_RELATIVE)
        if fused is not None and (quantity != "mass_kg" or model.is_metric):
            found.append((name, quantity, fused, True))
    for axis, (letter, half) in enumerate(zip(AXES, 0.5 * solid.extents, strict=True)):
        fused = fuse([a.estimates[q] for a in item.good if (q := f"com_{letter}") in a.estimates],
                     least_sigma=_LEAST_ALONG)  # fmt: skip
        if fused is not None:
            middle = float(solid.bounds[:, axis].mean())
            scaled = Estimate(middle + float(half) * fused.value, float(half) * fused.sigma)
            found.append((f"object/{item.object}/com_{letter}", f"com_{letter}", scaled, False))
    fused = fuse([a.estimates["restitution"] for a in item.good if "restitution" in a.estimates],
                 least_sigma=_LEAST_ALONG)  # fmt: skip
    if fused is not None:
        found.append((f"contact/{item.object}-{TABLE}/restitution", "restitution", fused, False))
    return found


def _drawn(model: Model, name: str, estimate: Estimate, is_log: bool, count: int, rng: np.random.Generator) -> Draws:
    def draw(n: int) -> Draws:
        values = rng.normal(estimate.value, estimate.sigma, n)
        return np.exp(values) if is_log else values

    return within(draw, model.bounds(name), count)


def _count(item: Asked, quantity: str) -> int:
    return sum(quantity in answer.estimates for answer in item.good)


def _findings(item: Asked) -> list[Finding]:
    """One remark for an object whose answers were not all good."""
    outcomes = ", ".join(f"{count} {status}" for status, count in sorted(item.outcomes.items()))
    if not item.questions:
        return [Finding(
            "vlm-no-picture", Severity.WARNING,
            f"There is no picture of {item.object!r} with a sure mask and a known camera, so {item.model} was not "
            "asked; materials stand in.", "look at the masks with `gemel prompt`", stream=item.object,
        )]  # fmt: skip
    if not item.is_reached:
        first = next(q.reply for q in item.questions if q.reply.status != "not-asked")
        return [Finding(
            "vlm-unreachable", Severity.WARNING,
            f"{item.model} at {item.url} did not answer ({first.status}: {first.text}); materials stand in.",
            "start the server or correct its address, then `gemel run DIR --from prior`", stream=item.object,
        )]  # fmt: skip
    if not item.good:
        return [Finding(
            "vlm-no-answer", Severity.WARNING,
            f"None of {len(item.questions)} answers of {item.model} can be used ({outcomes}); materials stand in.",
            "look at the answers in the prior's record, or ask another model", stream=item.object,
        )]  # fmt: skip
    left_out = [reason for q in item.questions for reason in q.answer.rejected]
    if len(item.good) == len(item.questions) and not left_out:
        return []
    example = f"; left out: {len(left_out)} numbers, such as {left_out[0]}" if left_out else ""
    return [Finding(
        "vlm-answers-lost", Severity.NOTE,
        f"Of {len(item.questions)} answers of {item.model} about {item.object!r}: {outcomes}{example}.",
        "nothing, if enough are left; all are in the prior's record", stream=item.object,
    )]  # fmt: skip
