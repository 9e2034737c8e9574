"""What was learnt and what was not, in words that a person can act on."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief, Parameter
from gemel.services.inference import NoiseLevel
from gemel.services.stats import effective_sample_size
from gemel.stages.identify.methods.fit import Fit

_LEARNT = 0.2
"""A parameter counts as learnt when its variance shrank by this part."""
_TIED = 0.85
_MISFIT_LEVEL = 5.0


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """How much the data said about each parameter."""

    contraction: Float[np.ndarray, " p"]
    """1 - posterior variance / prior variance, on each parameter's scale: 1 is fully known, 0 is as before."""
    correlation: Float[np.ndarray, "p p"]
    """Of the posterior, on each parameter's scale."""
    is_learnt: tuple[bool, ...]
    effective_samples: float
    misfit: str | None
    """Which data no parameter explains, or None."""
    words: tuple[str, ...]


def diagnose(fit: Fit, samples: Float[np.ndarray, "n p"], prior: Belief) -> Diagnosis:
    """Contraction, ties between parameters and misfit of a fit."""
    after = _scaled(samples, prior.parameters)
    before = _scaled(prior.samples, prior.parameters)
    variance = _variance(after, fit.weights)
    contraction = 1.0 - variance / np.maximum(_variance(before, prior.weights), 1e-300)
    learnt = tuple(bool(c > _LEARNT) for c in contraction)
    correlation = _correlation(after, fit.weights)
    misfit = _misfit(fit.levels)
    words = (*_unlearnt(prior.parameters, contraction), *_ties(prior.parameters, correlation, after, learnt))
    if misfit:
        words = (*words, misfit)
    return Diagnosis(contraction, correlation, learnt, effective_sample_size(fit.weights), misfit, words)


def _unlearnt(parameters: tuple[Parameter, ...], contraction: Float[np.ndarray, " p"]) -> tuple[str, ...]:
    names = [p.name for p, c in zip(parameters, contraction, strict=True) if c <= _LEARNT]
    return (f"This data says little about {', '.join(names)}: the prior stands.",) if names else ()


def _ties(
    parameters: tuple[Parameter, ...],
    correlation: Float[np.ndarray, "p p"],
    scaled: Float[np.ndarray, "n p"],
    learnt: tuple[bool, ...],
) -> tuple[str, ...]:
    """Pairs that move together: the data knows one combination of them."""
    del learnt
    words = []
    for i, j in zip(*np.triu_indices(len(parameters), 1), strict=True):
        if abs(correlation[i, j]) < _TIED:
            continue
        a, b = parameters[i], parameters[j]
        slope = np.std(scaled[:, j]) / max(np.std(scaled[:, i]), 1e-300)
        logs = a.transform == b.transform == "log"
        if logs and abs(slope - 1.0) < 0.25:
            kind = "product" if correlation[i, j] < 0.0 else "ratio"
        else:
            kind = "sum" if correlation[i, j] < 0.0 else "difference"
        words.append(
            f"{a.name} and {b.name} appear almost only as one {kind} in this data "
            f"(correlation {correlation[i, j]:+.2f}): neither is known as well alone as together."
        )
    return tuple(words)


def _misfit(levels: tuple[NoiseLevel, ...]) -> str | None:
    """Groups whose residuals are far larger than the measurement: the model lacks something."""
    worst = max(levels, key=lambda level: level.level)
    if worst.level < _MISFIT_LEVEL:
        return None
    return (
        f"No parameter explains this residual: {worst.name} is off by {worst.level:.1f} times its expected error, "
        f"{100.0 * worst.part:.0f} % of it slowly varying. The intervals are widened for it."
    )


def _scaled(samples: Float[np.ndarray, "n p"], parameters: tuple[Parameter, ...]) -> Float[np.ndarray, "n p"]:
    columns = [np.log(s) if p.transform == "log" else s for p, s in zip(parameters, samples.T, strict=True)]
    return np.stack(columns, axis=1)


def _variance(values: Float[np.ndarray, "n p"], weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, " p"]:
    return np.asarray(weights @ (values - weights @ values) ** 2)


def _correlation(values: Float[np.ndarray, "n p"], weights: Float[np.ndarray, " n"]) -> Float[np.ndarray, "p p"]:
    centred = (values - weights @ values) * np.sqrt(weights)[:, None]
    norms = np.maximum(np.linalg.norm(centred, axis=0), 1e-300)
    return np.asarray(centred.T @ centred / np.outer(norms, norms))
