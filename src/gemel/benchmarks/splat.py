"""`gemel bench splat`: how fast the CPU renderer is against the dense reference, one thread and the machine's limit.

All times are taken in one run, interleaved, best of several. Scene: splat_scene.py; clocks: splat_timing.py.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from gemel.benchmarks.splat_scene import leaves_of, make_request
from gemel.benchmarks.splat_timing import (
    best_times_s,
    exp_per_s,
    frame_job,
    lower_quartile_s,
    process_pair_s,
    reference_times_s,
)

Figures = dict[str, float]
Rows = list[dict[str, object]]

MAIN = (20_000, 160, 120)
"""Gaussians, width and height for which the headline figures are stated."""
COUNTS = (2_000, 20_000, 100_000)
IMAGES = ((160, 120), (320, 240), (640, 480))
REFERENCE_PAIRS = 60_000_000
"""Pixel-Gaussian pairs of the reference that are run for a row of the table; the rest follows by proportion."""


def bench_splat(*, quick: bool, seed: int) -> tuple[Figures, Rows]:
    """Figures and table rows; `quick` is a smoke version of a few seconds with 2000 Gaussians."""
    main = (2_000, 160, 120) if quick else MAIN
    sizes = [main] if quick else [(n, w, h) for n in COUNTS for w, h in IMAGES]
    rows = [_row(*size, rounds=3 if quick else 12, is_full=size == main, seed=seed) for size in sizes]
    headline = next(row for row in rows if (row["gaussians"], row["width"], row["height"]) == main)
    figures = _headline_figures(headline)
    figures |= _thread_figures(main, rounds=1 if quick else 3, seconds=0.2 if quick else 3.0, seed=seed)
    figures |= {} if quick else _growth(rows)
    figures |= _cuda_figures(quick=quick, seed=seed)
    return figures, rows


def _row(n: int, width: int, height: int, *, rounds: int, is_full: bool, seed: int) -> dict[str, object]:
    """One scene size: CPU with one and all threads, reference in full or by a few rows."""
    from gemel.services.render.cpu import RendererCpu

    request = make_request(n, width, height, seed=seed)
    one, all_threads = RendererCpu(1), RendererCpu()
    times = best_times_s(
        {
            "forward_1": frame_job(one, request, is_backward=False),
            "forward": frame_job(all_threads, request, is_backward=False),
            "both_1": frame_job(one, request, is_backward=True),
            "both": frame_job(all_threads, request, is_backward=True),
        },
        rounds,
    )
    row_count = height if is_full else max(1, min(height, REFERENCE_PAIRS // (n * width)))
    reference_forward, reference_both, pairs = reference_times_s(request, row_count)
    return {
        "gaussians": n,
        "width": width,
        "height": height,
        "threads": all_threads.thread_count,
        **{f"{name}_ms": 1e3 * value for name, value in times.items()},
        "reference_forward_s": reference_forward,
        "reference_both_s": reference_both,
        "reference_rows_run": row_count,
        "speedup_forward": reference_forward / times["forward"],
        "speedup_both": reference_both / times["both"],
        "blended_pairs": pairs,
        "workspace_mb": all_threads.shelf.bytes_held / 1e6,
    }


def _headline_figures(row: dict[str, Any]) -> Figures:
    per_s = exp_per_s()
    return {
        "speedup_over_reference": row["speedup_both"],
        "speedup_over_reference_forward": row["speedup_forward"],
        "forward_ms": row["forward_ms"],
        "forward_backward_ms": row["both_ms"],
        "forward_backward_one_thread_ms": row["both_1_ms"],
        "reference_forward_backward_s": row["reference_both_s"],
        "pairs_over_exp": row["blended_pairs"] / (1e-3 * row["both_ms"]) / per_s,
        "pairs_over_exp_forward_one_thread": row["blended_pairs"] / (1e-3 * row["forward_1_ms"]) / per_s,
        "exp_per_s": per_s,
    }


def _thread_figures(size: tuple[int, int, int], *, rounds: int, seconds: float, seed: int) -> Figures:
    """Gain of two threads over what two independent processes get, and the cost of torch's threads next door."""
    from gemel.services.render.cpu import RendererCpu

    request = make_request(*size, seed=seed)
    jobs = [frame_job(RendererCpu(threads), request, is_backward=True) for threads in (1, 2)]
    for job in jobs:
        job()
    one, two, pair = [], [], []
    for _ in range(rounds):
        one.append(lower_quartile_s(jobs[0], seconds))
        two.append(lower_quartile_s(jobs[1], seconds))
        pair.append(process_pair_s(*size, seed=seed, seconds=seconds))
    gain_threads, gain_processes = min(one) / min(two), 2.0 * min(one) / min(pair)
    beside = _beside_torch(jobs[1], seconds)
    return {
        "thread_efficiency": gain_threads / gain_processes,
        "thread_gain": gain_threads,
        "process_gain": gain_processes,
        "beside_torch": beside / min(two),
    }


def _beside_torch(job: Any, seconds: float) -> float:
    """Frame time when torch's own thread pool has just worked, as in a training loop."""
    import torch

    image = torch.rand(640, 480, 3)
    times = []
    for _ in range(max(8, int(seconds * 20))):
        (image * image).sqrt().sum()
        times.append(best_times_s({"frame": job}, 1)["frame"])
    return float(np.quantile(times, 0.25))


def _growth(rows: Rows) -> Figures:
    """Exponents of time in Gaussians and pixels, and how far memory is from linear in Gaussians plus pixels."""
    table = {(row["gaussians"], row["width"]): row for row in rows}
    by_count = [table[n, 320]["both_ms"] for n in COUNTS]
    by_pixels = [table[20_000, w]["both_ms"] for w, _ in IMAGES]
    n = np.array([row["gaussians"] for row in rows], dtype=np.float64)
    pixels = np.array([float(str(row["width"])) * float(str(row["height"])) for row in rows])
    held = np.array([row["workspace_mb"] for row in rows], dtype=np.float64)
    fit, *_ = np.linalg.lstsq(np.stack([n, pixels], axis=-1) / held[:, None], np.ones_like(held), rcond=None)
    return {
        "exponent_gaussians": _slope(COUNTS, by_count),
        "exponent_pixels": _slope([w * h for w, h in IMAGES], by_pixels),
        "memory_bytes_per_gaussian": 1e6 * float(fit[0]),
        "memory_bytes_per_pixel": 1e6 * float(fit[1]),
        "memory_over_linear": float((held / (np.stack([n, pixels], axis=-1) @ fit)).max()),
    }


def _slope(x: Any, y: Any) -> float:
    """Exponent of a power law through points, by least squares on logarithms."""
    return float(np.polyfit(np.log(np.asarray(x, dtype=np.float64)), np.log(np.asarray(y, dtype=np.float64)), 1)[0])


def _cuda_figures(*, quick: bool, seed: int) -> Figures:
    """Time that the adapter adds to gsplat's own, where there is a GPU: 100k Gaussians, 640x480, forward+backward.

    Both give the gradients of Gaussians and pose; the intrinsics' gradient, which gsplat lacks, is a figure of its own.
    """
    from gemel.services.render.renderer import make_renderer, usable_backends

    if usable_backends()["cuda"]:
        return {}
    import torch
    from gsplat import rasterization

    request = make_request(2_000 if quick else 100_000, 640, 480, seed=seed, device="cuda")
    fixed = replace(request, intrinsics=request.intrinsics.detach())
    leaves = leaves_of(request)[:-1]
    fx, fy, cx, cy = request.intrinsics[0].tolist()
    K = torch.tensor([[[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]]], device="cuda")
    renderer, slope = make_renderer("cuda"), torch.randn((1, 480, 640, 3), device="cuda")

    def plain() -> None:
        colour, _, _ = rasterization(
            request.means, request.quats, request.scales, request.opacities, request.sh,
            request.Ts_camera_world, K, 640, 480,
            sh_degree=3, packed=False, render_mode="RGB+ED",
        )  # fmt: skip
        torch.autograd.grad([colour[..., :3]], leaves, [slope])
        torch.cuda.synchronize()

    def ours() -> None:
        torch.autograd.grad([renderer.render(fixed).colour], leaves, [slope])
        torch.cuda.synchronize()

    def ours_with_intrinsics() -> None:
        torch.autograd.grad([renderer.render(request).colour], leaves_of(request), [slope])
        torch.cuda.synchronize()

    jobs = {"plain": plain, "ours": ours, "ours_with_intrinsics": ours_with_intrinsics}
    times = best_times_s(jobs, 5 if quick else 300)
    return {
        "cuda_overhead": times["ours"] / times["plain"] - 1.0,
        "cuda_overhead_with_intrinsics": times["ours_with_intrinsics"] / times["plain"] - 1.0,
        "cuda_ms": 1e3 * times["ours"],
        "cuda_gsplat_ms": 1e3 * times["plain"],
    }
