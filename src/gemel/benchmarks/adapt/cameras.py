"""`gemel bench adapt --poses cameras`: the same policies, told what a live twin sees in rendered images.

Each world is recorded once (a scan and a few trials) and made into a twin by the pipeline, from its own pixels. Then
every variant runs the same episodes in that world, with the cell's centre of mass. Beside them the same episodes are
run with the truth plus white error, as in the other tables. Intervals come from a bootstrap over worlds, then episodes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gemel.benchmarks.adapt.cells import PAPER, STRICT, TOP, Cell
from gemel.benchmarks.adapt.files import network_files
from gemel.benchmarks.adapt.kept_episodes import kept_or_run
from gemel.benchmarks.adapt.registration import Registration
from gemel.benchmarks.adapt.tables import Row, difference_row, success_of, variant_row
from gemel.benchmarks.adapt.trials import Job, Trials, make_controller, run_fleet, trials_of
from gemel.benchmarks.adapt.watched import Scene, Watch, Watched, registered, world_of
from gemel.benchmarks.recorded_pushes import Pushes, record_pushes
from gemel.errors import ConfigError, GemelError
from gemel.services.engine import LocalEngine
from gemel.services.policy.outcome import wrapped
from gemel.stages.reconstruct.config import ReconstructConfig
from gemel.worlds.fleet import WorldFleet

RECORDINGS = Path("out/pushes")
"""Where `bench track` and `bench live` keep theirs too."""
VARIANTS = ("fused", "randomised")
OnPart = Callable[[dict[str, float], list[Row]], None]
_FIRST_WORLD, _FIRST_EPISODE = 100, 1_000
_IN_ROWS = ("pose error mm", "pose error deg", "lost frames")
_QUICK = Pushes(7, 1, (64, 48), 2.5)
ROUGH = ReconstructConfig(steps=(40, 40, 40), gaussians=2000, faces=600, voxels=48, is_gate_strict=False)
"""Of a quick run."""
_TRIALS = 5
"""Recorded trials of each world, for tracks by which the twin is registered."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What is run."""

    job: Job
    """Networks and variants, one training seed."""
    scenes: tuple[Scene, ...]
    numbers: tuple[int, ...]
    """Episodes of each world."""
    workers: int
    steps: int = 0
    """Control periods; 0 means the task's time limit."""
    failed: int = 0
    """Worlds whose capture could not be made into a twin."""

    @property
    def cell(self) -> Cell:
        """Where the centre of mass is."""
        return self.job.cell


def bench_cameras(
    *, quick: bool, seed: int, folder: Path, recordings: Path, worlds: int, episodes: int, workers: int,
    variants: Sequence[str], base: str, on_part: OnPart,
) -> tuple[dict[str, float], list[Row]]:  # fmt: skip
    """Figures and tables; recordings and episodes that are in `recordings` are used again."""
    first = _FIRST_WORLD + seed
    pushes = [Pushes(first + k, _TRIALS) for k in range(worlds)]
    if quick:
        pushes, episodes = [_QUICK], 1
    asked = Asked(
        job=Job(TOP, 0, episodes, tuple(variants), str(folder), base),
        scenes=tuple(Scene(one, str(recordings), seed, ROUGH if quick else None) for one in pushes),
        numbers=tuple(range(_FIRST_EPISODE, _FIRST_EPISODE + episodes)),
        workers=workers,
        steps=6 if quick else 0,
    )
    for variant in variants:
        network_files(folder, asked.cell.task_name, variant, asked.job.seed, base)
    record_pushes(pushes, recordings, workers=workers)
    return run_asked(asked, seed=seed, on_part=on_part)


def run_asked(asked: Asked, *, seed: int, on_part: OnPart) -> tuple[dict[str, float], list[Row]]:
    """Make the twins, run all episodes, report."""
    found = LocalEngine().map(_registered, asked.scenes, workers=asked.workers)
    registrations = [one for one in found if isinstance(one, Registration)]
    if not registrations:
        raise ConfigError(f"No world could be made into a twin: {found[0]}", remedy="record other worlds: --seed")
    made = tuple(scene for scene, one in zip(asked.scenes, found, strict=True) if isinstance(one, Registration))
    asked = replace(asked, scenes=made, failed=len(found) - len(made))
    noisy = _noisy(asked)
    on_part(*report(asked, noisy, {}, seed))
    watched: dict[str, list[list[Watched]]] = {}
    for variant in asked.job.variants:
        watched[variant] = _watched(asked, variant, registrations)
        on_part(*report(asked, noisy, watched, seed))
    return report(asked, noisy, watched, seed)


def _registered(scene: Scene) -> Registration | str:
    """A capture that fails is a result, and must not take the others with it."""
    try:
        return registered(scene)
    except GemelError as error:
        return f"{scene.recording}: {error}"


def _watched(asked: Asked, variant: str, registrations: Sequence[Registration]) -> list[list[Watched]]:
    """All episodes of a variant, by world; one is one piece of work."""
    pieces = [
        Watch(scene, registration, asked.job, variant, number, asked.steps)
        for scene, registration in zip(asked.scenes, registrations, strict=True)
        for number in asked.numbers
    ]
    done, count = LocalEngine().map(kept_or_run, pieces, workers=asked.workers), len(asked.numbers)
    return [done[k : k + count] for k in range(0, len(done), count)]


def _noisy(asked: Asked) -> dict[str, list[Trials]]:
    """The same episodes with truth plus white error, by variant and world."""
    found = LocalEngine().map(_run_noisy, [(asked, scene) for scene in asked.scenes], workers=asked.workers)
    return {variant: [trials[k] for trials in found] for k, variant in enumerate(asked.job.variants)}


def _run_noisy(piece: tuple[Asked, Scene]) -> list[Trials]:
    asked, scene = piece
    fleet = WorldFleet([world_of(scene, asked.cell)] * len(asked.numbers), threads=1)
    return [
        run_fleet(
            fleet, make_controller(asked.job, variant, fleet.worlds), asked.cell, variant, seed=asked.job.seed,
            numbers=asked.numbers,
        )
        for variant in asked.job.variants
    ]  # fmt: skip


def report(
    asked: Asked, noisy: dict[str, list[Trials]], watched: dict[str, list[list[Watched]]], seed: int
) -> tuple[dict[str, float], list[Row]]:
    """Figures and tables of what is there so far, by variant and world."""
    rng = np.random.default_rng(seed)
    seen = {variant: [_trials(asked.cell, variant, group) for group in worlds] for variant, worlds in watched.items()}
    figures: dict[str, float] = {"worlds": float(len(asked.scenes)), "worlds_failed": float(asked.failed)}
    rows: list[Row] = []
    for poses, results in (("cameras", seen), ("noise", noisy)):
        for variant, trials in results.items():
            row = variant_row(asked.cell.name, variant, trials, rng, group="world")
            errors = _tracking(watched[variant]) if poses == "cameras" else {}
            rows.append({"poses": poses, **row, **{key: round(errors[key], 3) for key in _IN_ROWS if errors}})
            for tolerance in (PAPER, STRICT):
                key = f"{poses}_success_{tolerance}_{variant}_{asked.cell.name}"
                figures[key] = float(success_of(trials, tolerance).mean())
    for label, ours, theirs in _pairs(seen, noisy):
        row, found = difference_row(asked.cell.name, label, ours, theirs, rng)
        rows.append({"poses": "difference", **row})
        name = label.replace(" - ", "_minus_").replace(" ", "_")
        figures |= {
            f"low95_{name}": found[STRICT].low,
            f"high95_{name}": found[STRICT].high,
            f"p_{name}": found[STRICT].p,
        }
    if watched:
        together = [group for worlds in watched.values() for group in worlds]
        figures |= {f"cameras_{key.replace(' ', '_')}": value for key, value in _tracking(together).items()}
    return figures, rows


def _pairs(
    seen: dict[str, list[Trials]], noisy: dict[str, list[Trials]]
) -> list[tuple[str, list[Trials], list[Trials]]]:
    """What is compared: variants by cameras, and each variant's cameras with noise."""
    first, *others = seen or [""]
    between = [(f"cameras {first} - {other}", seen[first], seen[other]) for other in others]
    return between + [
        (f"{variant} cameras - noise", trials, noisy[variant]) for variant, trials in seen.items() if variant in noisy
    ]


def _trials(cell: Cell, variant: str, episodes: Sequence[Watched]) -> Trials:
    path, believed = np.stack([one.path for one in episodes]), np.stack([one.believed for one in episodes], axis=1)
    return trials_of(variant, cell, path, believed)


def _tracking(groups: Sequence[Sequence[Watched]]) -> dict[str, float]:
    """How far what the policies were told was from the truth at that moment, and what a control period took."""
    episodes = [one for group in groups for one in group]
    errors = np.concatenate([one.seen - one.path[:-1] for one in episodes])
    position_mm = 1e3 * np.linalg.norm(errors[:, :2], axis=1)
    yaw_deg = np.degrees(np.abs(wrapped(errors[:, 2])))
    spent_s = np.concatenate([one.spent_s for one in episodes])
    return {
        "pose error mm": float(position_mm.mean()),
        "pose error mm p95": float(np.quantile(position_mm, 0.95)),
        "pose error deg": float(yaw_deg.mean()),
        "pose error deg p95": float(np.quantile(yaw_deg, 0.95)),
        "lost frames": float(sum(one.is_lost.sum() for one in episodes)),
        "frames": float(len(errors)),
        "render s": float(spent_s[:, 0].mean()),
        "follow s": float(spent_s[:, 1].mean()),
        "step s": float(spent_s.sum(axis=1).mean()),
    }
