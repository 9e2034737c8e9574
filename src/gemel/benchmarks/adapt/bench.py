"""`gemel bench adapt`: the seed's tables on the stand-in arm, with every variant and several training seeds.

Success is judged when the time is up, on true poses. Intervals and p-values come from a bootstrap over training seeds
and then episodes; variants meet the same worlds. `privileged` and `noise_trained` are told the truth, `prior_only`,
`history_only`, `fused_memoryless` and `fused` run the policy of the cell's base on what they estimate: `privileged` for
the T-block, which did better on development worlds, `noise_trained` for the hammer.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gemel.benchmarks.adapt.cameras import RECORDINGS, bench_cameras
from gemel.benchmarks.adapt.cameras import VARIANTS as WATCHED
from gemel.benchmarks.adapt.cells import BOTTOM, HAMMER, MPC, PAPER, STRICT, TOP, VARIANTS, Cell
from gemel.benchmarks.adapt.files import SHIPPED, network_files
from gemel.benchmarks.adapt.one_shot import one_shot_rows
from gemel.benchmarks.adapt.tables import Row, difference_row, is_covered, success_of, variant_row
from gemel.benchmarks.adapt.trials import Job, Trials, run_job
from gemel.errors import ConfigError, choices_text
from gemel.runtime.adapt.make import make_filter, priors_of
from gemel.services.engine import LocalEngine
from gemel.services.stats import hierarchical_ratio

Results = dict[tuple[str, str], list[Trials]]
"""Trials of each training seed by cell and variant."""
NOISE, CAMERAS = _POSES = ("noise", "cameras")
_PARTS = ("push-t", "hammer", "one-shot", "mpc")
_MPC_EPISODES = 20
_HAMMER_VARIANTS = ("randomised", "fused")


def bench_adapt(
    *, quick: bool, seed: int, data: Path | None = None, seeds: int = 5, episodes: int | None = None, workers: int = 1,
    variants: str = "all", parts: str = "all", base: str = "", poses: str = NOISE,
    recordings: Path = RECORDINGS, worlds: int = 3,
    on_part: Callable[[dict[str, float], list[Row]], None] = lambda figures, rows: None,
) -> tuple[dict[str, float], list[Row]]:  # fmt: skip
    """Figures and tables; `data` is the folder that has trained networks as TASK/VARIANT-SEED.safetensors.

    `episodes` are those of each cell and seed, by default 80. With `poses` "cameras" only `worlds` worlds are run with
    one training seed, by default 20 episodes in each; see `cameras.py`.
    """
    folder = SHIPPED if data is None else data
    if poses not in _POSES:
        raise ConfigError(f"Poses {choices_text(poses, _POSES)}", remedy="use one of them")
    if poses == CAMERAS:
        if parts != "all":
            raise ConfigError(
                f"Parts {parts!r} were asked for with poses from cameras, which are run in the top cell alone.",
                remedy="leave out --parts, or --poses cameras",
            )
        return bench_cameras(
            quick=quick, seed=seed, folder=folder, recordings=recordings, worlds=worlds, episodes=episodes or 20,
            workers=workers, variants=_chosen(variants, VARIANTS, "Variant") if variants != "all" else WATCHED,
            base=base or TOP.base, on_part=on_part,
        )  # fmt: skip
    chosen_parts = _chosen(parts, _PARTS, "Part")
    names = _chosen(variants, VARIANTS, "Variant")
    seeds, episodes = (1, 2) if quick else (seeds, episodes or 80)
    jobs = _jobs(chosen_parts, names, seeds, episodes, folder, base, seed)
    _check_files(jobs)
    results: Results = {}
    for done in _batches(jobs, workers):
        for job, found in done:
            for trials in found:
                results.setdefault((job.cell.name, trials.variant), []).append(trials)
        on_part(*_report(results, chosen_parts, episodes, seed))
    figures, rows = _report(results, chosen_parts, episodes, seed)
    if "one-shot" in chosen_parts:
        rows += one_shot_rows()
    figures["update_ms"] = update_ms()
    return figures, rows


def update_ms(*, steps: int = 200) -> float:
    """Median time of one update of the filter, for one episode on one core [ms]."""
    task, rng = TOP.task, np.random.default_rng(0)
    estimator = make_filter(task, priors_of(task, [TOP.prior]))
    estimator.start(1)
    pose, tip, spent = np.array([[0.45, 0.0, 0.0]]), np.array([[0.45, 0.13]]), []
    for _ in range(steps):  # a tip that pushes all the time is the dearest case
        tip = tip - np.array([[0.0, 0.001]])
        seen = pose + rng.standard_normal((1, 3)) * [0.0008, 0.0008, 0.007]
        start = time.perf_counter()
        estimator.update(seen, tip, np.zeros((1, 2)))
        spent.append(time.perf_counter() - start)
        pose[:, 1] = np.minimum(pose[:, 1], tip[:, 1] - 0.11)
    return float(1e3 * np.median(spent[5:]))


def _chosen(given: str, known: Sequence[str], what: str) -> tuple[str, ...]:
    names = tuple(known) if given == "all" else tuple(part.strip() for part in given.split(","))
    for name in names:
        if name not in known:
            raise ConfigError(f"{what} {choices_text(name, tuple(known))}", remedy="use some of them, with commas")
    return names


def _jobs(
    parts: Sequence[str], variants: tuple[str, ...], seeds: int, episodes: int, folder: Path, base: str, first: int
) -> list[Job]:
    cells: list[tuple[Cell, tuple[str, ...]]] = []
    if "push-t" in parts:
        cells += [(TOP, variants), (BOTTOM, variants)]
    if "hammer" in parts:
        cells += [(HAMMER, tuple(name for name in _HAMMER_VARIANTS if name in variants))]
    jobs = [
        Job(cell, training, episodes, chosen, str(folder), base or cell.base, 100_000 * first)
        for training in range(seeds)
        for cell, chosen in cells
        if chosen
    ]
    if "mpc" in parts:
        few = min(_MPC_EPISODES, episodes)
        jobs += [Job(cell, 0, few, (MPC,), str(folder), base or cell.base, 100_000 * first) for cell in (TOP, BOTTOM)]
    return jobs


def _check_files(jobs: Sequence[Job]) -> None:
    """All networks are there before the first world is made."""
    for job in jobs:
        for variant in (name for name in job.variants if name != MPC):
            network_files(Path(job.folder), job.cell.task_name, variant, job.seed, job.base)


def _batches(jobs: list[Job], workers: int) -> Iterator[list[tuple[Job, list[Trials]]]]:
    """Jobs with their trials, as many at once as there are workers."""
    for first in range(0, len(jobs), max(1, workers)):
        some = jobs[first : first + max(1, workers)]
        yield list(zip(some, LocalEngine().map(run_job, some, workers=workers), strict=True))


def _report(results: Results, parts: Sequence[str], episodes: int, seed: int) -> tuple[dict[str, float], list[Row]]:
    rng = np.random.default_rng(seed)
    rows = [variant_row(cell, variant, trials, rng) for (cell, variant), trials in results.items()]
    figures: dict[str, float] = {}
    for (cell, variant), trials in results.items():
        for tolerance in (PAPER, STRICT):
            success = success_of(trials, tolerance)
            figures[f"success_{tolerance}_{variant}_{cell}"] = float(success.mean())
    for cell in (TOP.name, BOTTOM.name):
        rows += _comparisons(results, cell, figures, rng)
        told = figures.get(f"success_strict_privileged_{cell}", 0.0)
        if told > 0.0 and f"success_strict_fused_{cell}" in figures:
            figures[f"fused_over_privileged_{cell}"] = figures[f"success_strict_fused_{cell}"] / told
    _estimates(results, figures)
    if "hammer" in parts:
        _hammer(results, figures, rows, rng)
    trained = [found for (_, variant), found in results.items() if variant != MPC]
    figures["episodes_per_cell"] = float(min((sum(len(t.errors) for t in found) for found in trained), default=0))
    return figures, rows


def _comparisons(results: Results, cell: str, figures: dict[str, float], rng: np.random.Generator) -> list[Row]:
    """`fused` against every other variant in the same worlds."""
    ours = results.get((cell, "fused"))
    if ours is None:
        return []
    rows: list[Row] = []
    for (other_cell, variant), trials in results.items():
        if other_cell != cell or variant in ("fused", MPC) or len(trials) != len(ours):
            continue
        row, found = difference_row(cell, f"fused - {variant}", ours, trials, rng)
        if cell == TOP.name:
            figures[f"p_fused_vs_{variant}_top"] = found[STRICT].p
        figures[f"low95_fused_minus_{variant}_{cell}"] = found[STRICT].low
        rows.append(row)
    return rows


def _estimates(results: Results, figures: dict[str, float]) -> None:
    """How good estimates are at the end, where the object was moved at all."""
    ends = {
        variant: np.concatenate([_final_errors(t) for cell in (TOP.name, BOTTOM.name) for t in results[cell, variant]])
        for variant in ("fused", "fused_memoryless")
        if all((cell, variant) in results for cell in (TOP.name, BOTTOM.name))
    }
    if len(ends) == 2 and all(len(errors) for errors in ends.values()):
        figures["final_com_error_ratio"] = float(
            ends["fused"].mean() / max(float(ends["fused_memoryless"].mean()), 1e-9)
        )
        figures["final_com_error_cm_fused"] = float(100.0 * ends["fused"].mean())
        figures["final_com_error_cm_fused_memoryless"] = float(100.0 * ends["fused_memoryless"].mean())
    for key, cells in (("", (TOP.name, BOTTOM.name)), ("_hammer", (HAMMER.name,))):
        ours = [t for cell in cells for t in results.get((cell, "fused"), [])]
        held = np.concatenate([is_covered(t)[_was_moved(t), -1] for t in ours] or [[]])
        if len(held):
            figures[f"coverage90_after_contact{key}"] = float(held.mean())
            figures[f"coverage90_after_contact{key}_n"] = float(len(held))


def _was_moved(trials: Trials) -> np.ndarray:
    return np.isfinite(trials.touched)


def _final_errors(trials: Trials) -> Float[np.ndarray, " n"]:
    return np.asarray(np.abs(trials.mean - trials.truth)[_was_moved(trials), -1])


def _hammer(results: Results, figures: dict[str, float], rows: list[Row], rng: np.random.Generator) -> None:
    """Time to completion, in worlds in which both complete."""
    both = [results.get((HAMMER.name, variant)) for variant in ("fused", "randomised")]
    if both[0] is None or both[1] is None:
        return
    period_s = HAMMER.task.control_period_s
    fused, plain = (np.stack([t.seconds(PAPER, period_s) for t in trials or []]) for trials in both)
    ratio, low, high = hierarchical_ratio(fused, plain, rng)
    figures |= {"hammer_time_ratio": ratio, "hammer_time_ratio_low": low, "hammer_time_ratio_high": high}
    rows.append({"cell": HAMMER.name, "variant": "time of fused / randomised", "paper %": round(ratio, 3),
                 "paper 95 %": f"{low:.3f}-{high:.3f}"})  # fmt: skip
