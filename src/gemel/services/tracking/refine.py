"""One object's pose in one frame, by Gauss-Newton on what all cameras see; then, if wanted, by splat gradients.

The caller brings the start and the object's velocity: each camera has seen the object at its own time. No files, no
episodes: the same update serves a log and a live twin.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from gemel.services.render.renderer import Renderer
from gemel.services.tracking.evidence import ErrorModel, Evidence, moved, weigh
from gemel.services.tracking.expected import Expected, expect
from gemel.services.tracking.resting import Resting
from gemel.services.tracking.tracked_object import TrackedObject
from gemel.services.tracking.view import View

_LARGEST_STEP_M = 0.02
_LARGEST_STEP_RAD = 0.15
_DAMPING = 1e-4
_ENOUGH_M = 3e-4
"""Steps shorter than this end the search."""
_STILL_M = 6e-4
_UNUSUAL = 1.1
"""An object has not moved if the first step is shorter than this, and residuals are at most so many times as large as
usual."""
_OVERSHOOT = 1.4
"""The light is found anew after each step and takes a part of it back; longer steps make up for that."""


@dataclass(frozen=True)
class RefineConfig:
    """How one frame's pose is found."""

    blurs_px: tuple[float, ...] = (3.0, 2.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """One Gauss-Newton step for each, through images blurred so much [px]: wide first, to find what is far off. The
    last ones end early when nothing moves any more."""
    errors: ErrorModel = field(default_factory=ErrorModel)
    splat_steps: int = 0
    """Steps of gradient descent through the renderer afterwards; 0 is the fast mode."""


@dataclass(frozen=True, eq=False)
class Sight:
    """What one frame's search looks at, and how."""

    tracked: TrackedObject
    views: Sequence[View]
    velocity: Float[np.ndarray, "6"]
    """Of the object, to tell where it was at each view's own time."""
    config: RefineConfig
    renderer: Renderer
    resting: Resting | None
    """Pulls softly towards the table, if given."""

    def prior(self, T_world_object: Float[np.ndarray, "4 4"]) -> tuple[np.ndarray, np.ndarray]:
        """Information (6, 6) and gradient (6,) of what is known besides the views."""
        if self.resting is None:
            return np.zeros((6, 6)), np.zeros(6)
        return self.resting.prior(T_world_object)


@dataclass(frozen=True, eq=False)
class FramePose:
    """An object's pose in one frame, and how well the images support it."""

    T_world_object: Float[np.ndarray, "4 4"]
    velocity: Float[np.ndarray, "6"]
    """Of the object's origin [m/s] and about it [rad/s], along the world's axes, as it was taken to be."""
    evidence: tuple[Evidence, ...]
    """Of each view, at the pose."""
    prior: tuple[np.ndarray, np.ndarray]
    """Information (6, 6) and gradient (6,) of what was known besides."""

    @property
    def information(self) -> Float[np.ndarray, "6 6"]:
        """Of a perturbation about the object's origin, all views and the prior together."""
        return np.sum([e.information for e in self.evidence], axis=0) + self.prior[0]

    @property
    def visible(self) -> float:
        """Part of the object's pixels that some camera sees unhidden, over all views that it is in; 0 if in none."""
        return sum(e.visible_px for e in self.evidence) / max(sum(e.object_px for e in self.evidence), 1)

    @property
    def visible_px(self) -> int:
        """How many pixels show the object, in all views."""
        return sum(e.visible_px for e in self.evidence)

    @property
    def sigma(self) -> float:
        """Robust standard deviation of the residuals over the views, of white; infinite if no view tells anything."""
        counts = [e.visible_px if e.is_any else 0 for e in self.evidence]
        return (
            sum(n * e.sigma for n, e in zip(counts, self.evidence, strict=True)) / sum(counts)
            if any(counts)
            else np.inf
        )


def refine(
    tracked: TrackedObject,
    views: Sequence[View],
    T_start: Float[np.ndarray, "4 4"],
    velocity: Float[np.ndarray, "6"],
    config: RefineConfig,
    *,
    renderer: Renderer,
    resting: Resting | None = None,
    usual_sigma: float = 0.0,
) -> FramePose:
    """The pose near `T_start` that explains all views best; `resting` pulls softly towards the table.

    A start at which residuals are no larger than `usual_sigma` is looked at sharply first: an object at rest needs no
    search.
    """
    sight = Sight(tracked, views, np.asarray(velocity, dtype=np.float64), config, renderer, resting)
    T = np.array(T_start, dtype=np.float64)
    evidence, prior = look(sight, T, 0.0) if usual_sigma > 0.0 else ((), (np.zeros((6, 6)), np.zeros(6)))
    step = _step(evidence, prior)
    is_still = evidence and _length_m(step, tracked) < _STILL_M
    if is_still and FramePose(T, sight.velocity, evidence, prior).sigma < _UNUSUAL * usual_sigma:
        T = moved(T, step)
    else:
        for blur_px in config.blurs_px:
            evidence, prior = look(sight, T, blur_px)
            step = _step(evidence, prior)
            T = moved(T, step)
            if blur_px == 0.0 and _length_m(step, tracked) < _ENOUGH_M:
                break
    if config.splat_steps:
        from gemel.services.tracking.splat_descent import descend

        T = descend(sight, T)
        evidence, prior = look(sight, T, 0.0)
    else:  # the evidence is linear: no need to look again after the last small step
        evidence = tuple(replace(e, gradient=e.gradient - e.information @ step) for e in evidence)
        prior = (prior[0], prior[1] - prior[0] @ step)
    return FramePose(T, sight.velocity, evidence, prior)


def look(
    sight: Sight, T_world_object: Float[np.ndarray, "4 4"], blur_px: float
) -> tuple[tuple[Evidence, ...], tuple[np.ndarray, np.ndarray]]:
    """What each view says about a pose, and the prior."""
    evidence = tuple(
        Evidence.none() if seen is None else weigh(view, seen, T, blur_px=blur_px, errors=sight.config.errors)
        for view, (seen, T) in zip(sight.views, expected_views(sight, T_world_object), strict=True)
    )
    return evidence, sight.prior(T_world_object)


def expected_views(
    sight: Sight, T_world_object: Float[np.ndarray, "4 4"]
) -> list[tuple[Expected | None, Float[np.ndarray, "4 4"]]]:
    """What each view should show, and the object's pose at the view's own time."""
    views = sight.views
    Ts_world_object = [moved(T_world_object, view.delay_s * sight.velocity) for view in views]
    drawings = sight.tracked.draw(
        np.stack([view.T_camera_world @ T for view, T in zip(views, Ts_world_object, strict=True)]),
        np.stack([view.intrinsics for view in views]),
        [view.shape for view in views],
        renderer=sight.renderer,
    )
    return [(expect(view, drawing), T) for view, drawing, T in zip(views, drawings, Ts_world_object, strict=True)]


def _length_m(step: Float[np.ndarray, "6"], tracked: TrackedObject) -> float:
    """How far the object's farthest point moves at most."""
    return float(np.linalg.norm(step[:3]) + tracked.radius_m * np.linalg.norm(step[3:]))


def _step(evidence: Sequence[Evidence], prior: tuple[np.ndarray, np.ndarray]) -> Float[np.ndarray, "6"]:
    """The Gauss-Newton step, held back where it is long; nothing if no view tells anything."""
    if not any(e.is_any for e in evidence):
        return np.zeros(6)
    information = np.sum([e.information for e in evidence], axis=0) + prior[0]
    gradient = np.sum([e.gradient for e in evidence], axis=0) + prior[1]
    step = np.linalg.solve(information + np.diag(_DAMPING * np.diag(information) + 1e-3), gradient)
    step *= _OVERSHOOT
    step *= min(1.0, _LARGEST_STEP_M / max(float(np.linalg.norm(step[:3])), 1e-12))
    return np.asarray(step * min(1.0, _LARGEST_STEP_RAD / max(float(np.linalg.norm(step[3:])), 1e-12)))
