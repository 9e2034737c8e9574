"""The last refinement: what the frames themselves say about parameters that tracks have told already.

Gauss-Newton steps on the photometric loss (`pixel_term.py`) lead from the mean of the track's posterior to where pixels
and prior agree. Two things keep the result honest.

- Pixels are no independent witnesses, and no model follows them all. The loss is tempered (a power likelihood, as in
  Holmes and Walker 2017): all images of a segment count as `pixel_worth` independent ones, and the noise level is
  what images ask for at the best fit.
- Tracks were made of the same pixels. The two posteriors are joined by covariance intersection (Julier and Uhlmann
  1997), which holds whatever they share: the prior and each pixel count once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief
from gemel.artifacts.splatmesh import SplatMesh
from gemel.services.inference import PriorMap
from gemel.stages.identify.config import PIXEL_WORTH
from gemel.stages.identify.footage import SeenFrame
from gemel.stages.identify.pixel_term import PixelSlopes, PixelTerm
from gemel.stages.identify.tracked_problem import TrackedProblem

_WIDTH = 0.05
"""Rollouts are spread at least so far, in standard deviations of the prior: contact is rough on small scales."""
_STEPS = 8
"""Most times that the frames are drawn anew."""
_LONGEST = 1.5
"""Longest step, in standard deviations of the prior."""
_OVERSHOOT = 1.4
"""The light is found anew after each step and takes a part of it back, as in the tracker."""
_ENOUGH = 0.05
"""Steps shorter than this part of the posterior's standard deviation end the search."""
_FARTHEST = 4.0
"""Standard deviations that pixels and track may be apart; beyond, something is wrong with one of them."""


@dataclass(frozen=True)
class PixelInfo:
    """What the pixels changed."""

    images: int
    """Views that had something to say."""
    tempering: float
    """Part of the pixels' own curvature that is believed."""
    weight: float
    """Of the pixels against the track, 0 to 1."""
    apart: float
    """Distance of the two, in standard deviations of both."""
    words: str


def refine_by_pixels(
    problem: TrackedProblem,
    prior: Belief,
    posterior: Belief,
    frames: Sequence[SeenFrame],
    mesh: SplatMesh,
    rng: np.random.Generator,
    *,
    worth: float = PIXEL_WORTH,
) -> tuple[Belief, PixelInfo]:
    """The posterior of the track, moved and narrowed as far as the frames allow.

    `worth` is how many independent images each segment counts as.
    """
    from gemel.services.render.renderer import make_renderer
    from gemel.services.render.torch_threads import one_torch_thread

    to_normal = PriorMap.of(prior)
    z = to_normal.to_normal(posterior.samples)
    mean = posterior.weights @ z
    covariance = np.atleast_2d(np.cov(z.T, aweights=posterior.weights)) + 1e-9 * np.eye(len(mean))
    with one_torch_thread():
        term = PixelTerm(problem, to_normal, frames, mesh, renderer=make_renderer("cpu"))
        count = worth * len(problem.segments)
        at, slopes = _most_likely(term, mean, covariance, count, rng)
    if slopes.images == 0:
        return posterior, PixelInfo(0, 0.0, 0.0, 0.0, "No frame shows the object where simulations take it.")
    tempering = tempering_of(slopes, count)
    precision = np.eye(len(mean)) + tempering * slopes.curvature
    apart = _apart(at - mean, covariance, precision)
    info = PixelInfo(slopes.images, tempering, 0.0, apart, "")
    if apart > _FARTHEST:
        words = f"Pixels and track disagree by {apart:.1f} standard deviations: the track's posterior stands."
        return posterior, replace(info, words=words)
    weight, joint_mean, joint = intersection(mean, covariance, at, precision)
    stretch = np.linalg.cholesky(joint) @ np.linalg.inv(np.linalg.cholesky(covariance))
    samples = to_normal.to_parameters(joint_mean + (z - mean) @ stretch.T)
    narrower = np.sqrt(np.linalg.det(joint) / np.linalg.det(covariance)) ** (1.0 / len(mean))
    words = (
        f"{slopes.images} views moved the posterior by {apart:.1f} standard deviations at a weight of {weight:.2f}; "
        f"intervals are {narrower:.2f} times as wide as the track's."
    )
    return replace(posterior, samples=samples), replace(info, weight=weight, words=words)


def _most_likely(
    term: PixelTerm,
    mean: Float[np.ndarray, " p"],
    covariance: Float[np.ndarray, "p p"],
    count: float,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, " p"], PixelSlopes]:
    """Where pixels and prior agree, by Gauss-Newton from the track's mean, and the slopes there.

    Slopes are felt over what is still in question: the track's posterior first, then what pixels leave of it.
    """
    at, slopes, part = mean, term.around(mean, _root(covariance), rng), 1.0
    for _ in range(_STEPS if slopes.images else 0):
        step, precision = _newton(slopes, at, count)
        gap = float(step @ precision @ step)
        if gap < _ENOUGH**2:
            break
        step *= _OVERSHOOT * part * min(1.0, _LONGEST / max(float(np.linalg.norm(step)), 1e-12))
        there = term.around(at + step, _root(_smaller(covariance, np.linalg.inv(precision))), rng)
        left, after = _newton(there, at + step, count)
        if there.images and float(left @ after @ left) < gap:
            at, slopes, part = at + step, there, 1.0
        else:  # no nearer to where the step leads: too far
            part *= 0.5
    return at, slopes


def _newton(
    slopes: PixelSlopes, at: Float[np.ndarray, " p"], count: float
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "p p"]]:
    """The step to where tempered pixels and prior agree, and the precision there."""
    tempering = tempering_of(slopes, count)
    precision = np.eye(len(at)) + tempering * slopes.curvature
    return np.linalg.solve(precision, tempering * slopes.score - at), precision


def _smaller(first: Float[np.ndarray, "p p"], second: Float[np.ndarray, "p p"]) -> Float[np.ndarray, "p p"]:
    return min(first, second, key=lambda covariance: float(np.linalg.slogdet(covariance)[1]))


def _root(covariance: Float[np.ndarray, "p p"]) -> Float[np.ndarray, "p p"]:
    return np.linalg.cholesky(covariance + _WIDTH**2 * np.eye(len(covariance)))


def tempering_of(slopes: PixelSlopes, count: float) -> float:
    """Part of the pixels' curvature that counts: all images are worth `count`, at the level of what is missed.

    What the planes through simulations miss is noise too.
    """
    return min(1.0, count / max(slopes.images, 1)) / (max(slopes.level, 1.0) ** 2 + slopes.roughness**2)


def intersection(
    mean: Float[np.ndarray, " p"],
    covariance: Float[np.ndarray, "p p"],
    other: Float[np.ndarray, " p"],
    precision: Float[np.ndarray, "p p"],
) -> tuple[float, Float[np.ndarray, " p"], Float[np.ndarray, "p p"]]:
    """Weight of the other estimate, mean and covariance of the two together, whatever they share."""
    from scipy.optimize import minimize_scalar

    own = np.linalg.inv(covariance)

    def spread(weight: float) -> float:
        return -float(np.linalg.slogdet((1.0 - weight) * own + weight * precision)[1])

    weight = float(minimize_scalar(spread, bounds=(0.0, 1.0), method="bounded").x)
    weight = min((weight, 0.0, 1.0), key=spread)
    joint = np.linalg.inv((1.0 - weight) * own + weight * precision)
    return weight, joint @ ((1.0 - weight) * own @ mean + weight * precision @ other), 0.5 * (joint + joint.T)


def _apart(
    difference: Float[np.ndarray, " p"], covariance: Float[np.ndarray, "p p"], precision: Float[np.ndarray, "p p"]
) -> float:
    """Root mean square over the parameters of how far two estimates are apart, over the errors of both."""
    both = covariance + np.linalg.inv(precision)
    return float(np.sqrt(difference @ np.linalg.solve(both, difference) / len(difference)))
