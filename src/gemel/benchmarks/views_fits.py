"""The fits that `gemel bench views` compares, each to its plateau on the training views."""

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from gemel.artifacts.gaussians import Gaussians
from gemel.benchmarks.plateau import Plateau
from gemel.geometry import is_watertight
from gemel.stages.reconstruct.views import Views


@dataclass(frozen=True, eq=False)
class Fitted:
    """One method's Gaussians and how it got there."""

    method: str
    gaussians: Gaussians
    seconds: float
    """Of the fit, its own start included; the start that two fits share is counted with both."""
    steps: int
    is_plateau: bool
    """Whether training ended because nothing was gained, not at the cap of its steps."""
    last_gain: float
    """Part of the training loss that the last window of steps gained."""
    extra: dict[str, float]
    """What only this method has to say."""


@dataclass(frozen=True, eq=False)
class Start:
    """What the SplatMesh and the free Gaussians begin with."""

    state: Any
    config: Any
    rig: Any
    gaussians: Gaussians
    low: np.ndarray
    high: np.ndarray
    """The start's bounding box."""
    seconds: float


def make_start(seen: Views, gaussian_count: int, *, device: str) -> Start:
    """Hull, even mesh and Gaussians on it."""
    from gemel.services.render.splatmesh import gaussians_of
    from gemel.stages.reconstruct.object_fit import finished, starting_mesh, starting_state
    from gemel.stages.reconstruct.rig import FreeRig

    began, config = time.perf_counter(), object_config(gaussian_count)
    mesh = starting_mesh(seen, config)
    rig = FreeRig(seen, mesh[0].mean(axis=0), rotation_sigma_rad=0.0, translation_sigma_m=0.0, device=device)
    state = starting_state(seen, rig, mesh, config.fit, device=device)
    seconds = time.perf_counter() - began
    gaussians = gaussians_of(finished(state, seen, rig, config))
    return Start(state, config, rig, gaussians, mesh[0].min(axis=0), mesh[0].max(axis=0), seconds)


def object_config(gaussian_count: int) -> Any:
    """How an object is fitted whose pictures are real and whose cameras are right.

    One Gaussian to a face, colours of degree 1, steps of their own for vertices and Gaussians that turn: each chosen on
    every seventh of the views that are not withheld.
    """
    from gemel.stages.reconstruct.fit import FitConfig
    from gemel.stages.reconstruct.losses import LossWeights
    from gemel.stages.reconstruct.object_fit import ObjectConfig

    fit = FitConfig(
        gaussian_count=gaussian_count, scale_step=0.02, place_step=0.04, vertex_step=0.05, vertex_sharing=0.03,
        smoothing=1.0, turn_step=0.02, sh_count=4, light_step=0.0,
        weights=LossWeights(normal=0.002, laplacian=0.005, edge=0.005),
    )  # fmt: skip
    return ObjectConfig(table_z=None, face_count=gaussian_count, unseen_coarseness=6.0, fit=fit)


def tell_window(steps: int, loss: float) -> None:
    """A line for whoever waits."""
    print(f"  step {steps}: training loss {loss:.4f}", file=sys.stderr, flush=True)


def fit_bound(start: Start, seen: Views, plateau: Plateau, *, renderer: Any, seed: int) -> Fitted:
    """The SplatMesh: Gaussians stay on the faces of a closed mesh."""
    from gemel.services.render.splatmesh import gaussians_of
    from gemel.stages.reconstruct.fit import fit_splats
    from gemel.stages.reconstruct.object_fit import finished

    began, rng = time.perf_counter(), np.random.default_rng(seed)
    device = str(start.state.vertices.device)
    losses = fit_splats(
        start.state, seen, start.rig, start.config.fit, renderer=renderer, clamp=lambda vertices: None, rng=rng,
        order=lambda so_far: plateau.turns(seen, so_far, rng, device=device),
    )  # fmt: skip
    seconds = start.seconds + time.perf_counter() - began
    asset = finished(start.state, seen, start.rig, start.config)
    extra = {
        "watertight": float(is_watertight(asset.vertices, asset.faces)),
        "seen_part": float(asset.is_seen.mean()),
        "faces": float(len(asset.faces)),
    }
    return Fitted("SplatMesh", gaussians_of(asset), seconds, len(losses), plateau.is_reached, plateau.last_gain, extra)


def fit_free_gaussians(start: Start, seen: Views, plateau: Plateau, *, renderer: Any, seed: int) -> Fitted:
    """As many Gaussians from the same start, bound to nothing."""
    from gemel.benchmarks.free_gaussians import FreeGaussians, fit_free

    began, rng, fit = time.perf_counter(), np.random.default_rng(seed), start.config.fit
    device = str(start.state.vertices.device)
    free = FreeGaussians(start.gaussians, device=device)
    losses = fit_free(
        free, seen, fit, renderer=renderer, order=lambda so_far: plateau.turns(seen, so_far, rng, device=device)
    )
    seconds = start.seconds + time.perf_counter() - began
    gaussians = free.gaussians(fit.dilation_px2)
    return Fitted("free Gaussians", gaussians, seconds, len(losses), plateau.is_reached, plateau.last_gain, {})


def fit_default(start: Start, seen: Views, gaussian_count: int, *, steps: int, seed: int) -> Fitted:
    """gsplat's own trainer and strategy, with about as many Gaussians; on a GPU only."""
    from gemel.benchmarks.gsplat_default import train_default
    from gemel.benchmarks.plateau import LEAST_GAIN, ROUNDS, window_gain

    began = time.perf_counter()
    gaussians, losses = train_default(
        seen, start.low, start.high, gaussian_count, steps=steps, seed=seed,
        on_progress=lambda done, so_far, count: tell_window(done, float(np.mean(so_far[-500:]))),
    )  # fmt: skip
    seconds, gain = time.perf_counter() - began, window_gain(losses, ROUNDS * len(seen))
    return Fitted("gsplat default", gaussians, seconds, len(losses), gain < LEAST_GAIN, gain, {})
