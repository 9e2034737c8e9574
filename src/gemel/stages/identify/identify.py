"""From any problem and a prior to a posterior: checks, the chosen method, and what was learnt, in words.

This is the part of the stage that knows nothing of robots: benchmarks on other data call it directly.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief, ValueSource
from gemel.services.inference import NoiseLevel, NoiseModel, PriorMap
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.diagnose import Diagnosis, diagnose
from gemel.stages.identify.methods.fit import Fit
from gemel.stages.identify.problem import CountedProblem, OnProgress, Problem, check_prior

_SILENT = 0.02
"""Predictions that change by less than this part of the expected noise over the whole prior carry no information."""

_WORTHLESS = 1.0
"""An emulator that misses fresh simulations by more than the noise says nothing: true simulations are asked instead."""


@dataclass(frozen=True, eq=False)
class IdentifyInfo:
    """How the posterior came about and how far to trust it."""

    method: str
    rollouts: int
    diverged: int
    levels: tuple[NoiseLevel, ...]
    """Inferred noise of each group."""
    diagnosis: Diagnosis
    residuals: Float[np.ndarray, " m"]
    """Observed minus predicted at the best parameters found."""
    emulation_error: float
    """Error of the emulator at fresh rollouts, over the noise; above 1 the posterior is worth little."""
    notes: tuple[str, ...]


def identify_problem(
    problem: Problem,
    prior: Belief,
    config: IdentifyConfig,
    *,
    rng: np.random.Generator,
    episodes: tuple[str, ...] = (),
    on_progress: OnProgress | None = None,
) -> tuple[Belief, IdentifyInfo]:
    """The posterior over the problem's parameters; `episodes` are those that its data comes from."""
    check_prior(problem, prior)
    is_free = config.method == "auto" and problem.noise.block is not None
    config = replace(config, method=chosen_method(config, problem))
    if on_progress is not None:
        problem = CountedProblem(problem, config.most_rollouts(len(problem.parameters)), on_progress)
    to_normal = PriorMap.of(prior)
    silent = _silent(problem, to_normal, rng)
    if silent is not None:
        return prior, silent
    fit = method_of(config.method)(problem, to_normal, config, rng)
    if is_free and fit.emulation_error > _WORTHLESS:
        config = replace(config, method="population")
        fit = method_of(config.method)(problem, to_normal, config, rng)
    samples = to_normal.to_parameters(fit.z)
    diagnosis = diagnose(fit, samples, prior)
    sources = tuple(
        replace(parameter, source=ValueSource.INFERRED, episodes=episodes) if learnt else parameter
        for parameter, learnt in zip(prior.parameters, diagnosis.is_learnt, strict=True)
    )
    notes = (*fit.notes, *diagnosis.words)
    info = IdentifyInfo(
        config.method, fit.rollouts, fit.diverged, fit.levels, diagnosis, fit.residuals, fit.emulation_error, notes
    )
    return replace(prior, parameters=sources, samples=samples, weights=fit.weights), info


def chosen_method(config: IdentifyConfig, problem: Problem) -> str:
    """What `auto` means: `eki`, unless pushes count as few numbers and a round has too few simulations for an emulator.

    A quadratic in so many parameters that is fitted to fewer simulations than it has coefficients is sure of nonsense.
    """
    if config.method != "auto":
        return config.method
    p = len(problem.parameters)
    is_thin = config.ensemble_size(p) < 1 + p + p * (p + 1) // 2
    return "population" if is_thin and problem.noise.block is not None else "eki"


def method_of(name: str) -> Callable[[Problem, PriorMap, IdentifyConfig, np.random.Generator], Fit]:
    """The method of that name, imported only when it is used."""
    if name == "population":
        from gemel.stages.identify.methods.population import fit_population

        return fit_population
    if name == "svgd":
        from gemel.stages.identify.methods.svgd import fit_svgd

        return fit_svgd
    if name == "npe":
        from gemel.stages.identify.methods.npe import fit_npe

        return fit_npe
    if name == "gauss_newton":
        from gemel.stages.identify.methods.gauss_newton import fit_gauss_newton

        return fit_gauss_newton
    from gemel.stages.identify.methods.eki import fit_eki

    return fit_eki


def _silent(problem: Problem, prior: PriorMap, rng: np.random.Generator) -> IdentifyInfo | None:
    """What to report when nothing in the data depends on any parameter, else None."""
    z = prior.draw(8, rng)
    predicted = problem.predict(prior.to_parameters(z))
    predicted = predicted[np.all(np.isfinite(predicted), axis=1)]
    spread = np.std(predicted, axis=0) / problem.noise.scale if len(predicted) > 1 else np.full(1, np.inf)
    if np.max(spread) > _SILENT:
        return None
    residuals = problem.observed - predicted.mean(axis=0)
    count = len(problem.parameters)
    words = ("The data carries no information about any of the parameters: the prior is returned.",)
    diagnosis = Diagnosis(np.zeros(count), np.eye(count), (False,) * count, float(len(z)), None, words)
    levels = NoiseModel(problem.noise).levels(residuals)
    return IdentifyInfo("none", len(z), len(z) - len(predicted), levels, diagnosis, residuals, 0.0, words)
