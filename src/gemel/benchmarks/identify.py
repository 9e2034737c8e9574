"""`gemel bench identify`: do intervals hold the truth, are they narrow, is the method calibrated, is it fast?

`worlds`: push-t worlds of seeds 145 on (those before were looked at while the method was made) are fitted from logs and
simulated tracks with the nominal scene, from a flat prior over the task's whole ranges. Coverage counts centre of mass
and table friction together. The interval score (90 %) is over that of a band of constant width around the same medians,
as wide as the 95 % error quantile of the first half of the worlds, scored on the second half. `sbc`: simulation-based
calibration of the default method in an analytic and in a MuJoCo world, seeds 0-199. `suggest`: pushes that `suggest`
chooses against random ones. `speed`: against `mujoco.minimize` and raw `mujoco.batch`.

`--parts worlds,sbc` runs some of them, `--seeds N` sets how many worlds and trials each has (without: 100 worlds, 200
trials, 24 worlds to suggest in), `--seed N` moves all seeds by N (worlds of development: -145), `--data DIR` says where
worlds are kept. Figures say how many there were.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gemel.artifacts.belief import Belief, Parameter, ValueSource
from gemel.benchmarks.calibration_worlds import sbc_p, sbc_ranks
from gemel.benchmarks.identify_speed import speed_figures
from gemel.benchmarks.nominal_push import nominal_scene
from gemel.benchmarks.push_worlds import OBJECT, PushWorld, push_world
from gemel.benchmarks.suggest_pushes import suggest_ratio
from gemel.errors import ConfigError, choices_text
from gemel.services.engine import LocalEngine
from gemel.services.inference import flat_belief
from gemel.services.sim.joint_path import JointPath
from gemel.services.stats import binomial_bounds, interval_score, weighted_quantiles
from gemel.services.tasks import get_object, get_task
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.identify import identify_problem
from gemel.stages.identify.segments import find_segments
from gemel.stages.identify.track_frame import with_track_frame
from gemel.stages.identify.tracked_problem import TrackedProblem

Row = dict[str, object]
DATA = Path("out/push-worlds")
PARTS = ("worlds", "sbc", "suggest", "speed")
COM, FRICTION = f"object/{OBJECT}/com_y", f"contact/{OBJECT}-table/friction"
EPISODES = 3
FIRST_SEED = 145
_LEVELS = np.array([0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975])
CONFIG = IdentifyConfig(ensemble=64, draws=1000)
_TORSIONAL_M = 0.04
"""Range of the torsional friction that stands for how the weight is spread over the bottom."""


@dataclass(frozen=True)
class _Job:
    kind: str
    seed: int
    folder: str


def bench_identify(
    *, quick: bool, seed: int, data: Path = DATA, seeds: int = 0, workers: int = 2, parts: str = ",".join(PARTS)
) -> tuple[dict[str, float], list[Row]]:
    """Worlds, calibration, suggestions and speed, or some of them."""
    asked = tuple(parts.split(","))
    for part in asked:
        if part not in PARTS:
            raise ConfigError(f"Part {choices_text(part, PARTS)}", remedy="name parts as in --parts worlds,sbc")
    worlds, trials, suggested = (2, 20, 2) if quick else (seeds or 100, seeds or 200, seeds or 24)
    engine, figures, rows = LocalEngine(), dict[str, float](), list[Row]()
    if "worlds" in asked:
        jobs = [_Job("world", FIRST_SEED + seed + k, str(data)) for k in range(worlds)]
        rows = engine.map(_measure, jobs, workers=workers)
        figures |= _figures(rows)
    if "sbc" in asked:
        for kind in ("analytic", "mujoco"):
            ranks = engine.map(_ranks, [_Job(kind, seed + k, "") for k in range(trials)], workers=workers)
            figures[f"sbc_p_{kind}"] = sbc_p(np.array(ranks))
            figures[f"sbc_trials_{kind}"] = float(trials)
            figures[f"sbc_outside_{kind}"] = float(np.mean((np.array(ranks) == 0) | (np.array(ranks) == 99)))
    if "suggest" in asked:
        first = max(0, FIRST_SEED + seed)
        ratios = engine.map(suggest_ratio, list(range(first, first + suggested)), workers=workers)
        figures |= {"suggest_volume_ratio": float(np.median(ratios)), "suggest_worlds": float(len(ratios))}
    if "speed" in asked:
        figures |= speed_figures(quick=quick)
    return figures, rows


def world_problem(world: PushWorld) -> TrackedProblem:
    """What is fitted to a world: its tracks, the logged path of its tip, and the nominal scene."""
    segments = [s for e in world.episodes for s in find_segments(e.track, longest_s=1.0, model_error=0.03)]
    return TrackedProblem(
        parameters=world_prior().parameters,
        segments=tuple(segments),
        paths={e.track.episode: JointPath(e.times_s, e.tips) for e in world.episodes},
        scene=nominal_scene(get_object(OBJECT), threads=1),
    )


def world_prior() -> Belief:
    """Flat over the task's ranges; normal for what is known to be small, the track's frame and clock."""
    ranges = {n: r for n, r in get_task("push-t").parameter_ranges.items() if not n.endswith("/mass")}
    ranges[f"contact/{OBJECT}-table/torsional"] = (0.0, _TORSIONAL_M)
    parameters = tuple(Parameter(n, _unit(n), *r, "linear", ValueSource.RANDOMISED) for n, r in ranges.items())
    return with_track_frame(flat_belief(parameters), CONFIG.frame_doubt)


def _unit(name: str) -> str:
    return "m" if name.endswith(("com_y", "torsional")) else ""


def _measure(job: _Job) -> Row:
    os.environ["OMP_NUM_THREADS"] = "1"
    world = push_world(job.seed, Path(job.folder), episodes=EPISODES)
    problem = world_problem(world)
    begin = time.process_time()
    rng = np.random.default_rng([job.seed, 17])
    posterior, info = identify_problem(problem, world_prior(), CONFIG, rng=rng)
    row: Row = {"world": job.seed, "segments": len(problem.segments), "cpu_s": time.process_time() - begin,
                "emulation_error": info.emulation_error}  # fmt: skip
    for key, name in (("com", COM), ("friction", FRICTION)):
        values = posterior.samples[:, posterior.names.index(name)]
        row[f"{key}_true"] = world.truth[name]
        row[f"{key}_quantiles"] = [float(q) for q in weighted_quantiles(values, posterior.weights, _LEVELS)]
    return row


def _ranks(job: _Job) -> list[int]:
    os.environ["OMP_NUM_THREADS"] = "1"
    return [int(rank) for rank in sbc_ranks(job.kind, job.seed)]


def _figures(rows: list[Row]) -> dict[str, float]:
    truth = np.array([[float(str(row["com_true"])), float(str(row["friction_true"]))] for row in rows])
    quantiles = np.array([[row["com_quantiles"], row["friction_quantiles"]] for row in rows], dtype=float)
    error = np.abs(quantiles[:, :, 3] - truth)
    figures = {"com_error_mm": 1e3 * float(np.median(error[:, 0])), "friction_error": float(np.median(error[:, 1]))}
    for level, low, high in ((50, 2, 4), (90, 1, 5), (95, 0, 6)):
        inside = (quantiles[:, :, low] <= truth) & (truth <= quantiles[:, :, high])
        figures[f"coverage{level}"] = float(inside.mean())
        figures[f"coverage{level}_com"] = float(inside[:, 0].mean())
        figures[f"coverage{level}_friction"] = float(inside[:, 1].mean())
        bounds = binomial_bounds(inside.size, level / 100.0)
        figures[f"coverage{level}_low"], figures[f"coverage{level}_high"] = (b / inside.size for b in bounds)
    width = quantiles[:, :, 5] - quantiles[:, :, 1]
    figures["com_interval90_mm"] = 1e3 * float(np.median(width[:, 0]))
    figures["friction_interval90"] = float(np.median(width[:, 1]))
    figures["worlds"] = float(len(rows))
    if len(rows) >= 8:
        figures["interval_score_ratio"] = _score_ratio(quantiles, truth, error)
    return figures


def _score_ratio(quantiles: np.ndarray, truth: np.ndarray, error: np.ndarray) -> float:
    """Mean over the two parameters of own score over the constant band's."""
    half = len(truth) // 2
    wide = np.quantile(error[:half], 0.95, axis=0)
    middle = quantiles[half:, :, 3]
    own = interval_score(quantiles[half:, :, 1], quantiles[half:, :, 5], truth[half:], 0.9)
    constant = interval_score(middle - wide, middle + wide, truth[half:], 0.9)
    return float(np.mean(own.mean(axis=0) / constant.mean(axis=0)))
