"""`gemel bench servo`: where servos take a pendulum on a trajectory that was not fitted.

For each servo, `identify` fits the servo model and a plain PD servo to the same runs: three trajectories at every
firmware gain. Figures are for the withheld trajectory: root mean square position error of the rollout at the
posterior's mean over that of the plain PD servo; `rmse_over_plain_pd` is the worst gain's. Bands come from rollouts of
posterior draws, widened as the fitted runs show that is needed.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.benchmarks.bands import Judged, fit_band, judge, summary
from gemel.benchmarks.intervals_text import interval_text
from gemel.benchmarks.servo.data import WITHHELD, Run, read_runs
from gemel.benchmarks.servo.problem import ServoProblem
from gemel.errors import SourceError
from gemel.services.inference import flat_belief
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.identify import identify_problem

Row = dict[str, object]
DATA = Path("../shared/data/servo_pendulum.npz")
_DRAWS = 24
_STARTS = 4
"""Stiction makes several valleys: which one a single search ends in is a matter of luck."""


@dataclass(frozen=True, eq=False)
class _Predicted:
    """Runs predicted at the mean of a posterior, with the spread over its draws."""

    errors: list[np.ndarray]
    spreads: list[np.ndarray]

    @property
    def rmse(self) -> np.ndarray:
        """Per run [rad]."""
        return np.array([np.sqrt(np.mean(error**2)) for error in self.errors])


def bench_servo(*, quick: bool, seed: int, data: Path = DATA) -> tuple[dict[str, float], list[Row]]:
    """Figures over all servos and gains, one row per withheld run."""
    runs = read_runs(data)
    servos = sorted({run.servo for run in runs})
    rows: list[Row] = []
    judged: list[Judged] = []
    for k, servo in enumerate(servos[:1] if quick else servos):
        found, bands = _servo([run for run in runs if run.servo == servo], quick, np.random.default_rng([seed, k]))
        rows += found
        judged += bands
    ratios = np.array([float(str(row["rmse_over_plain_pd"])) for row in rows])
    figures = {
        "rmse_over_plain_pd": float(ratios.max()), "mean_rmse_over_plain_pd": float(ratios.mean()),
        **summary(judged), "n_test": float(len(rows)),
    }  # fmt: skip
    return figures, rows


def _servo(runs: list[Run], quick: bool, rng: np.random.Generator) -> tuple[list[Row], list[Judged]]:
    fit = [run for run in runs if run.trajectory != WITHHELD]
    test = [run for run in runs if run.trajectory == WITHHELD]
    if not fit or not test:
        raise SourceError(
            f"Servo {runs[0].servo} has {len(fit)} runs to fit and {len(test)} of {WITHHELD} to test on.",
            remedy="give runs of several trajectories, sin_time_square among them",
        )
    config = IdentifyConfig(
        ensemble=16 if quick else 0,
        kalman_steps=1 if quick else 4,
        starts=1 if quick else _STARTS,
        refinements=0 if quick else 3,
        draws=1000,
        generations=0,
    )
    full, plain = (_posterior(fit, is_plain, config, rng) for is_plain in (False, True))
    on_fit, on_test = (_predict(part, full, rng, is_plain=False) for part in (fit, test))
    plain_rmse = _predict(test, plain, rng, is_plain=True).rmse
    rows: list[Row] = []
    judged = []
    for k, run in enumerate(test):
        alike = [j for j, other in enumerate(fit) if other.firmware_gain == run.firmware_gain]
        band = fit_band(*(np.concatenate([part[j] for j in alike]) for part in (on_fit.errors, on_fit.spreads)))
        judged.append(judge(band, on_test.errors[k], on_test.spreads[k]))
        rows.append({
            "run": run.name, "rmse_deg": float(np.degrees(on_test.rmse[k])),
            "plain_pd_rmse_deg": float(np.degrees(plain_rmse[k])),
            "rmse_over_plain_pd": float(on_test.rmse[k] / plain_rmse[k]),
            "coverage95": float(judged[-1].is_covered.mean()),
            "fitted": interval_text(full) if k == 0 else "", "plain_fitted": interval_text(plain) if k == 0 else "",
        })  # fmt: skip
    return rows, judged


def _posterior(runs: list[Run], is_plain: bool, config: IdentifyConfig, rng: np.random.Generator) -> Belief:
    problem = ServoProblem(runs, is_plain=is_plain)
    return identify_problem(problem, flat_belief(problem.parameters), config, rng=rng)[0]


def _predict(runs: list[Run], posterior: Belief, rng: np.random.Generator, *, is_plain: bool) -> _Predicted:
    """Errors and spreads of each run; the mean is taken on the log scale on which the parameters were fitted."""
    problem = ServoProblem(runs, is_plain=is_plain)
    mean = np.exp(posterior.weights @ np.log(posterior.samples))
    chosen = rng.choice(len(posterior.samples), size=_DRAWS, p=posterior.weights)
    found = problem.positions(np.concatenate([mean[None], posterior.samples[chosen]]))
    errors = [part[0] - run.position for part, run in zip(found, runs, strict=True)]
    spreads = [np.sqrt(np.nanmean((part[1:] - part[0]) ** 2, axis=0)) for part in found]
    return _Predicted(errors, spreads)
