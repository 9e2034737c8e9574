"""Lines of the tables: one variant in one cell, or the difference of two that met the same worlds."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gemel.benchmarks.adapt.cells import CELLS, PAPER, STRICT
from gemel.benchmarks.adapt.trials import Trials
from gemel.runtime.adapt.make import ESTIMATED
from gemel.services.stats import hierarchical_difference, hierarchical_interval, wilson_interval
from gemel.services.stats.hierarchical import Difference

Row = dict[str, object]
_Z90 = 1.6448536269514722


def success_of(trials: Sequence[Trials], tolerance: str) -> Float[np.ndarray, "group n"]:
    """1 where an episode ended within a tolerance, by training seed or world."""
    return np.stack([t.is_success(tolerance) for t in trials])


def is_covered(trials: Trials) -> Float[np.ndarray, "n t"]:
    """1 where the 90 % interval of the centre of mass holds the truth."""
    return (np.abs(trials.mean - trials.truth) <= _Z90 * trials.sigma).astype(np.float64)


def variant_row(
    cell: str, variant: str, trials: Sequence[Trials], rng: np.random.Generator, *, group: str = "seed"
) -> Row:
    """One line of a table; `group` says what each of the trials shares, a training seed or a world."""
    row: Row = {"cell": cell, "variant": variant, "episodes": sum(len(t.errors) for t in trials)}
    for tolerance in (PAPER, STRICT):
        success = success_of(trials, tolerance)
        low, high = hierarchical_interval(success, rng) if len(success) > 1 else wilson_interval(
            int(success.sum()), success.size
        )  # fmt: skip
        row[f"{tolerance} %"] = round(100.0 * float(success.mean()), 1)
        row[f"{tolerance} 95 %"] = f"{100.0 * low:.0f}-{100.0 * high:.0f}"
        row[f"{tolerance} by {group}"] = " ".join(f"{100.0 * s:.0f}" for s in success.mean(axis=1))
    last = np.concatenate([t.errors[:, -1] for t in trials])
    seconds = np.concatenate([t.seconds(PAPER, CELLS[cell].task.control_period_s) for t in trials])
    row["position cm"] = round(100.0 * float(last[:, 0].mean()), 2)
    row["yaw deg"] = round(float(np.degrees(last[:, 1]).mean()), 2)
    row["seconds"] = round(float(np.nanmean(seconds)), 2) if np.isfinite(seconds).any() else "never"
    off = np.concatenate([np.abs(t.mean - t.truth) for t in trials])
    if variant in ESTIMATED and np.isfinite(off).all():
        covered = np.concatenate([is_covered(t) for t in trials])
        every = slice(9, None, 10)
        row["com error cm each s"] = " ".join(f"{100.0 * e:.2f}" for e in off.mean(axis=0)[every])
        row["covered 90 each s"] = " ".join(f"{c:.2f}" for c in covered.mean(axis=0)[every])
    return row


def difference_row(
    cell: str, label: str, ours: Sequence[Trials], theirs: Sequence[Trials], rng: np.random.Generator
) -> tuple[Row, dict[str, Difference]]:
    """One line: how much more of ours succeed, and the same by tolerance."""
    row: Row = {"cell": cell, "variant": label, "episodes": sum(len(t.errors) for t in theirs)}
    found = {}
    for tolerance in (PAPER, STRICT):
        one = hierarchical_difference(success_of(ours, tolerance), success_of(theirs, tolerance), rng)
        row[f"{tolerance} %"] = round(100.0 * one.estimate, 1)
        row[f"{tolerance} 95 %"] = f"{100.0 * one.low:.1f} to {100.0 * one.high:.1f}"
        row[f"{tolerance} p"] = round(one.p, 4)
        found[tolerance] = one
    return row, found
