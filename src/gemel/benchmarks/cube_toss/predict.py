"""The prediction of a toss: the median of an ensemble of rollouts, and how far they spread.

Members differ by a draw of the posterior and by the noise of the first frame's velocities. The centre is the
geometric median at each frame, of places and of orientations: it minimises the expected distance, and unlike the mean
it stays on one side when the ensemble splits over which way the cube falls.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.belief import Belief
from gemel.benchmarks.cube_toss.data import Tosses, rotation_vectors
from gemel.benchmarks.cube_toss.model import simulate
from gemel.benchmarks.cube_toss.problem import cube_of

_ROUNDS = 12


@dataclass(frozen=True, eq=False)
class Predicted:
    """Tosses as predicted."""

    position: Float[np.ndarray, "toss t 3"]
    wxyz: Float[np.ndarray, "toss t 4"]
    errors: Float[np.ndarray, "toss t 6"]
    """Predicted minus measured: place [m] and rotation vector [rad], world."""
    spreads: Float[np.ndarray, "toss t 6"]
    """Standard deviation of the ensemble about the prediction, alike."""


def predict(
    tosses: Tosses, posterior: Belief, kicks_sd: tuple[float, float], *, members: int, rng: np.random.Generator
) -> Predicted:
    """Predict tosses from their first frames; every toss gets draws of its own."""
    count = members * len(tosses)
    draws = posterior.samples[rng.choice(len(posterior.samples), size=count, p=posterior.weights)]
    kicks = rng.standard_normal((count, 6)) * np.repeat(kicks_sd, 3)
    positions, wxyzs = simulate(tosses, cube_of(draws), copies=members, kicks=kicks)
    position, wxyz = median_place(positions), median_rotation(wxyzs)
    around = Tosses(tosses.names, tosses.lengths, position, wxyz, tosses.velocity, tosses.angular)
    scatter = np.concatenate([positions - position, rotation_vectors(wxyzs, around)], axis=-1)
    errors = np.concatenate([position - tosses.position, rotation_vectors(wxyz, tosses)], axis=-1)
    return Predicted(position, wxyz, errors, np.sqrt(np.mean(scatter**2, axis=0)))


def median_place(places: Float[np.ndarray, "member *n 3"]) -> Float[np.ndarray, "*n 3"]:
    """Geometric median (Weiszfeld's iteration)."""
    centre = places.mean(axis=0)
    for _ in range(_ROUNDS):
        weight = 1.0 / np.maximum(np.linalg.norm(places - centre, axis=-1, keepdims=True), 1e-4)
        centre = np.sum(weight * places, axis=0) / np.sum(weight, axis=0)
    return np.asarray(centre)


def median_rotation(wxyz: Float[np.ndarray, "member *n 4"]) -> Float[np.ndarray, "*n 4"]:
    """Median rotation: weighted chordal means, weights one over the angle; NaN where members are."""
    is_there = np.isfinite(wxyz).all(axis=(0, -1))
    members = wxyz[:, is_there]
    weight = np.ones(members.shape[:-1])
    for _ in range(_ROUNDS):
        moments = np.einsum("kn,kni,knj->nij", weight, members, members)
        centre = np.linalg.eigh(moments)[1][..., -1]
        cosine = np.clip(np.abs(np.sum(members * centre, axis=-1)), 0.0, 1.0)
        weight = 1.0 / np.maximum(2.0 * np.arccos(cosine), 0.01)
    found = np.full(wxyz.shape[1:], np.nan)
    found[is_there] = centre
    return found
