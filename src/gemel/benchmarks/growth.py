"""`gemel bench growth`: how time and memory of an object's reconstruction grow with views, pixels, faces and Gaussians.

Each is swept alone round one base case, every case in a process of its own, on one thread. `start_s` is hull, cap and
mesh, `fit_s` the joint fit of a fixed number of steps, both in seconds of CPU time, which other jobs on the machine
disturb less than the clock. An exponent is the slope of log time against log size, with its standard error.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np

from gemel.stages.reconstruct.views import Views

Figures = dict[str, float]
Rows = list[dict[str, object]]


@dataclass(frozen=True)
class Case:
    """What is reconstructed."""

    views: int = 16
    width: int = 96
    faces: int = 1000
    gaussians: int = 4000
    steps: tuple[int, ...] = (20, 40, 80)
    """At a quarter, half and full size of the images."""

    @property
    def height(self) -> int:
        """Three quarters of the width [px]."""
        return 3 * self.width // 4

    @property
    def pixels(self) -> int:
        """Of one view."""
        return self.width * self.height


SWEEPS: dict[str, tuple[str, tuple[int, ...]]] = {
    "views": ("views", (8, 16, 32, 64)),
    "pixels": ("width", (48, 96, 192, 384)),
    "faces": ("faces", (500, 1000, 2000, 4000)),
    "gaussians": ("gaussians", (2000, 4000, 8000, 16000)),
}
"""For each size: which field of a case is set, and to what."""
QUICK = Case(views=6, width=48, faces=200, gaussians=400, steps=(2, 2))
QUICK_GAUSSIANS = (400, 800)


def bench_growth(*, quick: bool, seed: int) -> tuple[Figures, Rows]:
    """Exponents with their standard errors and one row per case; `quick` runs two tiny cases in this process."""
    if quick:
        tiny = [replace(QUICK, gaussians=count) for count in QUICK_GAUSSIANS]
        rows = [_row("gaussians", case, measure(case, seed)) for case in tiny]
        return _figures(rows), rows
    measured: dict[Case, Figures] = {}
    rows = []
    for name, case in _cases():
        if case not in measured:
            measured[case] = _alone(case, seed)
        rows.append(_row(name, case, measured[case]))
    return _figures(rows), rows


def _cases() -> Iterator[tuple[str, Case]]:
    for name, (changed, values) in SWEEPS.items():
        for value in values:
            yield name, replace(Case(), **{changed: value})  # type: ignore[arg-type]


def _alone(case: Case, seed: int) -> Figures:
    """Measure in a fresh process: its peak memory is this case's own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, case, seed).result()


def measure(case: Case, seed: int) -> Figures:
    """CPU seconds of start and fit, and what memory they needed at most beyond the loaded program [MiB]."""
    import resource

    from gemel.benchmarks.growth_scene import ball_views
    from gemel.services.render.torch_threads import one_torch_thread

    with one_torch_thread():
        _reconstruct(replace(QUICK, steps=(1, 1)), ball_views(QUICK.views, QUICK.width, QUICK.height), seed)
        before_mib = _resident_mib()
        views = ball_views(case.views, case.width, case.height)
        start_s, fit_s = _reconstruct(case, views, seed)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return {"start_s": start_s, "fit_s": fit_s, "peak_mib": peak_mib - before_mib}


def _reconstruct(case: Case, views: Views, seed: int) -> tuple[float, float]:
    from gemel.services.render.cpu import RendererCpu
    from gemel.stages.reconstruct.fit import FitConfig, fit_splats
    from gemel.stages.reconstruct.object_fit import ObjectConfig, starting_mesh, starting_state, table_clamp
    from gemel.stages.reconstruct.rig import FreeRig

    fit = FitConfig(steps=case.steps, gaussian_count=case.gaussians)
    config, began = ObjectConfig(face_count=case.faces, fit=fit), time.process_time()
    mesh = starting_mesh(views, config)
    rig = FreeRig(views, mesh[0].mean(axis=0), rotation_sigma_rad=0.0, translation_sigma_m=0.0)
    state = starting_state(views, rig, mesh, fit, device="cpu")
    started = time.process_time()
    clamp, rng = table_clamp(state, config.table_z), np.random.default_rng(seed)
    fit_splats(state, views, rig, fit, renderer=RendererCpu(1), clamp=clamp, rng=rng)
    return started - began, time.process_time() - started


def _resident_mib() -> float:
    """Memory that this process has now."""
    import os
    from pathlib import Path

    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _row(name: str, case: Case, measured: Figures) -> dict[str, object]:
    size = float(getattr(case, name))
    return {"swept": name, "size": size, "views": case.views, "pixels": case.pixels, "faces": case.faces,
            "gaussians": case.gaussians, **measured, "seconds": measured["start_s"] + measured["fit_s"]}  # fmt: skip


def _figures(rows: Rows) -> Figures:
    figures: Figures = {}
    for name in dict.fromkeys(str(row["swept"]) for row in rows):
        own = [row for row in rows if row["swept"] == name]
        sizes = [float(str(row["size"])) for row in own]
        for what in ("seconds", "fit_s", "start_s", "peak_mib"):
            slope, error = exponent(sizes, [max(float(str(row[what])), 1e-6) for row in own])
            short = what.removesuffix("_s").removesuffix("_mib")
            figures[f"exponent_{short}_{name}"], figures[f"exponent_{short}_{name}_se"] = slope, error
    figures["peak_mib_largest"] = max(float(str(row["peak_mib"])) for row in rows)
    return figures


def exponent(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Slope of log values against log sizes, and its standard error; NaN from fewer than three points."""
    x, y = np.log(sizes), np.log(values)
    x, y = x - x.mean(), y - y.mean()
    slope = float(x @ y / (x @ x))
    if len(x) < 3:
        return slope, float("nan")
    residual = y - slope * x
    return slope, float(np.sqrt(residual @ residual / (len(x) - 2) / (x @ x)))
