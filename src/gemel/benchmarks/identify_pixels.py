"""Worlds from pixels: push-t worlds recorded with cameras, reconstructed, tracked and identified, against the truth.

The same worlds (seeds 145 on), nominal scene, prior and settings as in `gemel bench identify`, but nothing of the
track is simulated: it comes from the images, by all stages up to track with their default settings. Each world is
fitted from its tracks alone and again with the pixel refinement. Recordings and projects stay in `--data` and are used
again, so a run that was cut off goes on where it was.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.benchmarks.identify import COM, CONFIG, FIRST_SEED, FRICTION, world_prior, world_problem
from gemel.benchmarks.pixel_world import PixelWorld, pixel_world
from gemel.benchmarks.recorded import keep_to_two_cores
from gemel.benchmarks.recorded_pushes import Pushes, record_pushes
from gemel.services.engine import LocalEngine
from gemel.services.stats import weighted_quantiles
from gemel.stages.identify.footage import seen_frames
from gemel.stages.identify.identify import identify_problem

Row = dict[str, object]
DATA = Path("out/pixel-worlds")
_LEVELS = np.array([0.05, 0.5, 0.95])
_PARAMETERS = {"com": COM, "friction": FRICTION}


@dataclass(frozen=True)
class _Job:
    pushes: Pushes
    folder: str
    seed: int


def pixel_figures(
    *, quick: bool, seed: int, data: Path = DATA, seeds: int = 20, episodes: int = 3, workers: int = 2
) -> tuple[dict[str, float], list[Row]]:
    """`seeds` worlds of `episodes` trials each, `workers` worlds side by side."""
    count = 1 if quick else seeds
    folder = data / "quick" if quick else data
    folder.mkdir(parents=True, exist_ok=True)
    trials = 2 if quick else episodes
    worlds = [Pushes(FIRST_SEED + seed + k, trials, seconds=2.0 if quick else 0.0) for k in range(count)]
    rows = LocalEngine().map(_measure, [_Job(one, str(folder), max(seed, 0)) for one in worlds], workers=workers)
    return _figures(rows), rows


def _measure(job: _Job) -> Row:
    os.environ["OMP_NUM_THREADS"] = "1"
    keep_to_two_cores()
    folder = Path(job.folder)
    try:
        record_pushes([job.pushes], folder, workers=1)
        with pixel_world(folder / job.pushes.name, job.pushes.seed, seed=job.seed) as found:
            return {"world": job.pushes.seed, **measure_world(found, np.random.default_rng([job.pushes.seed, 17]))}
    except Exception as error:  # a world that fails is a result, and must not take the others with it
        return {"world": job.pushes.seed, "failed": f"{type(error).__name__}: {str(error)[:160]}"}


def measure_world(found: PixelWorld, rng: np.random.Generator) -> Row:
    """Both posteriors of one world."""
    from gemel.stages.identify.pixels import refine_by_pixels

    problem = world_problem(found.world)
    prior, begin = world_prior(), time.process_time()
    posterior, info = identify_problem(problem, prior, CONFIG, rng=rng)
    middle = time.process_time()
    frames = seen_frames(problem.segments, found.footage, per_segment=CONFIG.pixel_frames)
    refined, pixels = refine_by_pixels(problem, prior, posterior, frames, found.mesh, rng)
    row: Row = {f"{key}_true": found.world.truth[name] for key, name in _PARAMETERS.items()}
    for label, belief in (("", posterior), ("_refined", refined)):
        row |= {f"{key}_quantiles{label}": _quantiles(belief, name) for key, name in _PARAMETERS.items()}
    return row | {
        "segments": len(problem.segments), "cpu_s": middle - begin, "cpu_s_refined": time.process_time() - middle,
        "emulation_error": info.emulation_error, "images": pixels.images, "tempering": pixels.tempering,
        "weight": pixels.weight, "apart": pixels.apart,
    }  # fmt: skip


def _quantiles(belief: Belief, name: str) -> list[float]:
    values = belief.samples[:, belief.names.index(name)]
    return [float(q) for q in weighted_quantiles(values, belief.weights, _LEVELS)]


def _figures(rows: list[Row]) -> dict[str, float]:
    ok = [row for row in rows if "failed" not in row]
    figures = {"worlds_pixels": float(len(ok)), "failed_pixels": float(len(rows) - len(ok))}
    if not ok:
        return figures
    truth = np.array([[row[f"{key}_true"] for key in _PARAMETERS] for row in ok], dtype=float)
    for label, end in (("", "pixels"), ("_refined", "pixels_refined")):
        low, middle, high = np.moveaxis(
            np.array([[row[f"{key}_quantiles{label}"] for key in _PARAMETERS] for row in ok], dtype=float), -1, 0
        )
        error, inside = np.abs(middle - truth), (low <= truth) & (truth <= high)
        figures |= {
            f"com_error_mm_{end}": 1e3 * float(np.median(error[:, 0])),
            f"friction_error_{end}": float(np.median(error[:, 1])),
            f"coverage90_{end}": float(inside.mean()),
            f"coverage90_com_{end}": float(inside[:, 0].mean()),
            f"coverage90_friction_{end}": float(inside[:, 1].mean()),
            f"com_interval90_mm_{end}": 1e3 * float(np.median(high[:, 0] - low[:, 0])),
            f"friction_interval90_{end}": float(np.median(high[:, 1] - low[:, 1])),
        }
    return figures
