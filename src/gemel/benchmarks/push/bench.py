"""`gemel bench push`: where real objects end up after straight pushes, fitted on a fifth of each set.

Per set of shape, surface and speed, `identify` fits nine parameters to a seeded 20 % of the pushes; figures are for
the other 80 %. The prediction is the rollout at the posterior's mean. Bands come from rollouts in which every push
has parameters of its own, scattered as widely as the posterior of the mean says that single pushes are. Transfer:
what was fitted on `rect1` predicts the other shapes on the same surface at the same speed, with their pressure centred
and their outlines as drawn.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.benchmarks.bands import Judged, fit_band, judge, summary
from gemel.benchmarks.intervals_text import interval_text
from gemel.benchmarks.push.data import Pushes, read_pushes
from gemel.benchmarks.push.problem import PARAMETERS, PushProblem, wrapped
from gemel.errors import SourceError
from gemel.services.inference import flat_belief
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.identify import identify_problem

Row = dict[str, object]
DATA = Path("../shared/data/mcube_push_endpoints.npz")
SHAPES = Path("../shared/data/mcube_shapes.npz")
_SCATTER_DRAWS = 8
_SCATTER = 0.5
"""Scatter between pushes over the posterior's width times the root of their number."""
_TRANSFER_FROM = "rect1"


@dataclass(frozen=True, eq=False)
class _Fitted:
    """One set: what was fitted, and errors (push, 3) in m and rad with their spreads."""

    test: Pushes
    mean: np.ndarray
    fit_errors: tuple[np.ndarray, np.ndarray]
    test_errors: tuple[np.ndarray, np.ndarray]
    row: Row


def bench_push(
    *, quick: bool, seed: int, data: Path = DATA, shapes: Path = SHAPES
) -> tuple[dict[str, float], list[Row]]:
    """Figures over all sets and one row per set."""
    sets = read_pushes(data, shapes)
    if quick:
        sets = [_some(pushes, 40) for pushes in sets if pushes.name in ("abs_rect1_v10", "abs_tri1_v10")] or sets[:2]
    config = IdentifyConfig(
        ensemble=20 if quick else 48,
        kalman_steps=1 if quick else 3,
        refinements=0 if quick else 2,
        draws=1000,
        generations=0,
    )
    fitted = [_fit_and_test(pushes, config, np.random.default_rng([seed, k])) for k, pushes in enumerate(sets)]
    errors = np.concatenate([one.test_errors[0] for one in fitted])
    figures = {**_means(errors), **summary(_judge(fitted)), **_transfer(fitted)}
    figures |= {"n_test": float(len(errors)), "sets": float(len(fitted))}
    for k, kind in enumerate(("quadratic", "poly4")):
        if all(len(one.test.authors_end) > k for one in fitted):
            theirs = np.concatenate([_errors(one.test, one.test.authors_end[k]) for one in fitted])
            figures |= {f"authors_{kind}_{key}": value for key, value in _means(theirs).items()}
    return figures, [one.row for one in fitted]


def _fit_and_test(pushes: Pushes, config: IdentifyConfig, rng: np.random.Generator) -> _Fitted:
    order = rng.permutation(len(pushes))
    count = max(len(pushes) // 5, 10)
    fit, test = pushes.subset(order[:count]), pushes.subset(order[count:])
    posterior, info = identify_problem(PushProblem(fit), flat_belief(PARAMETERS), config, rng=rng)
    mean = posterior.weights @ posterior.samples
    parts = [_errors_and_spreads(part, posterior, mean, count, rng) for part in (fit, test)]
    row: Row = {"set": pushes.name, "n_fit": count, "n_test": len(test), **_means(parts[1][0])}
    row["fitted"] = interval_text(posterior, factors={"m": 1e3, "rad": 180.0 / np.pi}, units={"m": "mm", "rad": "deg"})
    row["emulation_error"] = round(info.emulation_error, 3)
    return _Fitted(test, mean, parts[0], parts[1], row)


def _errors_and_spreads(
    pushes: Pushes, posterior: Belief, mean: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    problem = PushProblem(pushes)
    predicted = problem.end_poses(np.broadcast_to(mean, (1, len(pushes), len(mean))))[0]
    chosen = rng.choice(len(posterior.samples), size=(_SCATTER_DRAWS, len(pushes)), p=posterior.weights)
    low, high = (np.array([getattr(p, end) for p in PARAMETERS]) for end in ("low", "high"))
    draws = np.clip(mean + _SCATTER * np.sqrt(count) * (posterior.samples[chosen] - mean), low, high)
    around = problem.end_poses(draws) - predicted
    return _errors(pushes, predicted), np.sqrt(np.mean(around**2, axis=0))


def _errors(pushes: Pushes, predicted: np.ndarray) -> np.ndarray:
    """Predicted minus measured end pose, (push, 3) in m and rad."""
    error = predicted - pushes.end
    return np.column_stack([error[:, :2], wrapped(error[:, 2])])


def _means(errors: np.ndarray) -> dict[str, float]:
    return {
        "position_mm": float(1e3 * np.linalg.norm(errors[:, :2], axis=1).mean()),
        "rotation_deg": float(np.degrees(np.abs(errors[:, 2]).mean())),
    }


def _judge(fitted: list[_Fitted]) -> list[Judged]:
    """Bands of x, y and yaw; floor and factor are shared by all sets, in units of each set's constant band."""
    judged = []
    for column in range(3):
        constants = [float(np.quantile(np.abs(one.fit_errors[0][:, column]), 0.95)) for one in fitted]
        parts = [[part[:, column] / c for part in one.fit_errors] for one, c in zip(fitted, constants, strict=True)]
        band = fit_band(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        # Each set is compared with its own constant, which is one in these units.
        band = type(band)(band.floor, band.factor, 1.0)
        for one, c in zip(fitted, constants, strict=True):
            judged.append(judge(band, *(part[:, column] / c for part in one.test_errors)))
    return judged


def _transfer(fitted: list[_Fitted]) -> dict[str, float]:
    """Errors on shapes that were not fitted, with what `rect1` taught about surface, probe and tracker."""
    errors = []
    for source in (one for one in fitted if one.test.shape == _TRANSFER_FROM):
        for one in fitted:
            is_alike = one.test.surface == source.test.surface and one.test.speed == source.test.speed
            if one is source or not is_alike:
                continue
            draw = source.mean.copy()
            draw[[2, 3, 6, 7, 8]] = 0.0
            predicted = PushProblem(one.test).end_poses(np.broadcast_to(draw, (1, len(one.test), len(draw))))[0]
            errors.append(_errors(one.test, predicted))
    if not errors:
        raise SourceError(
            f"No set of shape {_TRANSFER_FROM} has another set of its surface and speed beside it.",
            remedy="give data with several shapes on one surface, rect1 among them",
        )
    return {f"transfer_{key}": value for key, value in _means(np.concatenate(errors)).items()}


def _some(pushes: Pushes, count: int) -> Pushes:
    return pushes.subset(np.arange(0, len(pushes), max(1, len(pushes) // count)))
