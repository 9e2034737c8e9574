"""`gemel bench cube-toss`: open-loop rollouts of real tosses from their first frame, on tosses that were not fitted.

Five-fold by default: `identify` fits ten parameters of cube, contact and tracker to tosses of the other folds. The
prediction is the median of rollouts over the posterior; errors are ContactNets' (mean over frames, then over tosses).
The baseline is MuJoCo with the elliptic cone, the measured friction and inertia and default contact, on the same
tosses; p values are of a paired t test on the tosses' differences, two-sided.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.benchmarks.bands import Band, Judged, fit_band, judge, summary
from gemel.benchmarks.cube_toss.data import (
    Tosses,
    folds,
    position_errors_percent,
    read_tosses,
    rotation_errors_deg,
)
from gemel.benchmarks.cube_toss.model import Cube, simulate
from gemel.benchmarks.cube_toss.predict import Predicted, predict
from gemel.benchmarks.cube_toss.problem import PARAMETERS, CubeProblem, kick_sd
from gemel.benchmarks.intervals_text import interval_text
from gemel.errors import ConfigError
from gemel.services.inference import flat_belief
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.identify import identify_problem

Row = dict[str, object]
DATA = Path("../shared/data/cube_tosses.npz")
_FOLDS = 5


@dataclass(frozen=True)
class _Effort:
    """How much is simulated."""

    fitted_tosses: int
    members: int
    config: IdentifyConfig


_FULL = _Effort(64, 12, IdentifyConfig(ensemble=48, kalman_steps=3, refinements=2, draws=1000, generations=0))
_QUICK = _Effort(4, 3, IdentifyConfig(ensemble=16, kalman_steps=1, refinements=0, draws=200, generations=0))


@dataclass(frozen=True, eq=False)
class _Fold:
    """Errors per test toss, own and the baseline's: position [%] and rotation [deg]."""

    own: np.ndarray
    baseline: np.ndarray
    judged: list[Judged]
    row: Row


def bench_cube_toss(
    *, quick: bool, seed: int, data: Path = DATA, fit: Path | None = None, test: Path | None = None
) -> tuple[dict[str, float], list[Row]]:
    """Figures over all test tosses and one row per fold, or one for `fit` and `test` files."""
    if (fit is None) != (test is None):
        raise ConfigError("Of --fit and --test only one was given.", remedy="give both, or neither for five folds")
    effort = _QUICK if quick else _FULL
    pairs = [(read_tosses(fit), read_tosses(test))] if fit and test else _split(read_tosses(data), seed, quick)
    done = [_fold(f"{k + 1}", *pair, effort, np.random.default_rng([seed, k])) for k, pair in enumerate(pairs)]
    own, baseline = (np.concatenate([getattr(one, name) for one in done]) for name in ("own", "baseline"))
    figures = {
        "position_percent": float(own[:, 0].mean()), "rotation_deg": float(own[:, 1].mean()),
        "position_percent_sd": float(own[:, 0].std()), "rotation_deg_sd": float(own[:, 1].std()),
        "baseline_position_percent": float(baseline[:, 0].mean()),
        "baseline_rotation_deg": float(baseline[:, 1].mean()),
        "p_position": _paired_p(own[:, 0], baseline[:, 0]), "p_rotation": _paired_p(own[:, 1], baseline[:, 1]),
        **summary([part for one in done for part in one.judged]), "n_test": float(len(own)),
    }  # fmt: skip
    return figures, [one.row for one in done]


def _split(tosses: Tosses, seed: int, quick: bool) -> list[tuple[Tosses, Tosses]]:
    rng = np.random.default_rng(seed)
    if quick:
        tosses = tosses.subset(rng.permutation(len(tosses))[:8])
    parts = folds(len(tosses), 2 if quick else _FOLDS, rng)
    others = [np.concatenate([part for j, part in enumerate(parts) if j != k]) for k in range(len(parts))]
    return [(tosses.subset(rest), tosses.subset(part)) for rest, part in zip(others, parts, strict=True)]


def _fold(name: str, fit: Tosses, test: Tosses, effort: _Effort, rng: np.random.Generator) -> _Fold:
    """Fit to some tosses of the one set, shape bands on them, and judge both on the other set."""
    chosen = fit.subset(rng.permutation(len(fit))[: effort.fitted_tosses])
    posterior, info = identify_problem(CubeProblem(chosen), flat_belief(PARAMETERS), effort.config, rng=rng)
    kicks = kick_sd(fit)
    on_fit, on_test = (predict(part, posterior, kicks, members=effort.members, rng=rng) for part in (chosen, test))
    judged = [judge(_band(on_fit, c), *_column(on_test, c)) for c in range(6)]
    own = _metrics(on_test.position, on_test.wxyz, test)
    start = simulate(test, Cube.baseline(len(test)), copies=1)
    baseline = _metrics(start[0][0], start[1][0], test)
    row: Row = {
        "fold": name, "n_fit": len(chosen), "n_test": len(test),
        "position_percent": float(own[:, 0].mean()), "rotation_deg": float(own[:, 1].mean()),
        "baseline_position_percent": float(baseline[:, 0].mean()),
        "baseline_rotation_deg": float(baseline[:, 1].mean()),
        "kick_m_per_s": kicks[0], "kick_rad_per_s": kicks[1],
        "fitted": _parameters(posterior), "emulation_error": round(info.emulation_error, 3),
    }  # fmt: skip
    return _Fold(own, baseline, judged, row)


def _parameters(posterior: Belief) -> str:
    return interval_text(posterior, factors={"m": 1e3, "s": 1e3}, units={"m": "mm", "s": "ms"})


def _metrics(position: np.ndarray, wxyz: np.ndarray, tosses: Tosses) -> np.ndarray:
    return np.stack([position_errors_percent(position, tosses), rotation_errors_deg(wxyz, tosses)], axis=1)


def _column(predicted: Predicted, column: int) -> tuple[np.ndarray, np.ndarray]:
    """Errors and spreads of one coordinate at all frames after the first."""
    error, spread = predicted.errors[:, 1:, column], predicted.spreads[:, 1:, column]
    is_there = np.isfinite(error)
    return error[is_there], spread[is_there]


def _band(predicted: Predicted, column: int) -> Band:
    return fit_band(*_column(predicted, column))


def _paired_p(own: np.ndarray, baseline: np.ndarray) -> float:
    from scipy.stats import ttest_rel

    return float(ttest_rel(own, baseline).pvalue)
