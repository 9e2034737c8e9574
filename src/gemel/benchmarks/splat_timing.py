"""Clocks of the splat benchmark: frames, the dense reference, independent processes, plain exp."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gemel.benchmarks.splat_scene import leaves_of, make_request


def best_times_s(jobs: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Shortest time of each job over interleaved rounds, after one round to warm up."""
    best = dict.fromkeys(jobs, float("inf"))
    for round_number in range(rounds + 1):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            if round_number:
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def frame_job(renderer: Any, request: Any, *, is_backward: bool) -> Callable[[], None]:
    """Draw one frame; with `is_backward` also pull a colour gradient back to every input."""
    import torch

    leaves = leaves_of(request)
    generator = torch.Generator().manual_seed(0)
    shape = (len(request.intrinsics), request.height, request.width, 3)
    slope = torch.randn(shape, generator=generator).to(request.means.device)

    def forward() -> None:
        with torch.no_grad():
            renderer.render(request)

    def both() -> None:
        torch.autograd.grad([renderer.render(request).colour], leaves, [slope])

    return both if is_backward else forward


def reference_times_s(request: Any, row_count: int) -> tuple[float, float, int]:
    """Seconds of the dense reference, forward and forward+backward for the whole image, and its blended pairs.

    All Gaussians against all pixels of a block of rows at a time, as many as fit into about 1 GB; the backward pass
    of a block follows at once, so nothing is computed twice. Only the first `row_count` rows are run; the time of the
    rest follows by proportion (the work per row is the same), the projection is counted once.
    """
    import torch

    from gemel.services.render import reference

    rows = max(1, min(row_count, 25_000_000 // (request.width * max(1, len(request.means)))))
    start = time.perf_counter()
    splats = reference.project(request, 0)
    parts = [
        part.detach().requires_grad_() for part in (splats.means, splats.conics, splats.opacities, splats.channels)
    ]
    projected = time.perf_counter() - start
    forward, both, pairs = 0.0, 0.0, 0
    for top in range(0, row_count, rows):
        bottom = min(top + rows, row_count)
        start = time.perf_counter()
        blended, _ = reference.blend(reference.Splats(*parts), request.width, top, bottom)
        forward += time.perf_counter() - start
        blended[..., :3].sum().backward()
        both += time.perf_counter() - start
        del blended
        with torch.no_grad():
            pairs += int((reference.blend_weights(splats, request.width, top, bottom) > 0).sum())
    start = time.perf_counter()
    given = (splats.means, splats.conics, splats.opacities, splats.channels)
    torch.autograd.grad(given, leaves_of(request), [part.grad for part in parts], allow_unused=True)
    unprojected = time.perf_counter() - start
    share = request.height / row_count
    return projected + share * forward, projected + unprojected + share * both, int(share * pairs)


def exp_per_s() -> float:
    """float32 exponentials per second of numpy on one thread, in cache."""
    values = np.linspace(-5, 0, 1 << 14).astype(np.float32)
    out = np.empty_like(values)

    def job() -> None:
        for _ in range(64):
            np.exp(values, out=out)

    return 64 * values.size / best_times_s({"exp": job}, 10)["exp"]


def lower_quartile_s(job: Callable[[], None], seconds: float) -> float:
    """Lower quartile of a job's times over a stretch of time: steadier than the best, not spoilt by a busy moment."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 8:
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return float(np.quantile(times, 0.25))


def process_pair_s(gaussian_count: int, width: int, height: int, *, seed: int, seconds: float) -> float:
    """Lower quartile of the frame time (one thread, forward+backward) of two processes that run at the same time."""
    code = "from gemel.benchmarks.splat_timing import run_process; run_process()"
    settings = json.dumps([gaussian_count, width, height, seed, seconds])
    command = [sys.executable, "-c", code, settings]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for process in processes:
        process.stdout.readline()  # type: ignore[union-attr]  # "ready": compiled and warm
    for process in processes:
        process.stdin.write("go\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
    return float(np.mean([float(process.communicate()[0]) for process in processes]))


def run_process() -> None:
    """What a process of the pair does: get ready, say so, wait for the word, measure, print."""
    from gemel.services.render.cpu import RendererCpu

    gaussian_count, width, height, seed, seconds = json.loads(sys.argv[1])
    job = frame_job(RendererCpu(1), make_request(gaussian_count, width, height, seed=seed), is_backward=True)
    for _ in range(5):
        job()
    print("ready", flush=True)
    sys.stdin.readline()
    print(lower_quartile_s(job, seconds))
