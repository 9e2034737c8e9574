"""How far tracks are from the true poses, after one rigid gauge of the world and one of the object's frame."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gemel.artifacts.track import Track
from gemel.geometry import SE3
from gemel.geometry.se3 import stack
from gemel.services.tracking.evidence import about_world
from gemel.worlds.truth import EpisodeTruth

_RAD_PER_M = 20.0
"""A turn of so many radians counts as much as a metre when the gauges are fitted."""
_SOFT_M = 0.5e-3
"""Errors beyond this count less in the gauges' fit."""
_Z90 = 1.6448536269514722


@dataclass(frozen=True, eq=False)
class TrackError:
    """Errors of n poses."""

    position_mm: Float[np.ndarray, " n"]
    rotation_deg: Float[np.ndarray, " n"]
    is_covered: Float[np.ndarray, "n 6"]
    """Whether each component of the error, about the object's origin, lies in its 90 % interval (0 or 1)."""
    half_width_mm: Float[np.ndarray, " n"]
    """Mean half width of the position's intervals."""


def track_error(tracks: Sequence[Track], episodes: Sequence[EpisodeTruth]) -> TrackError:
    """Of all tracks of one capture; `episodes` is the truth of each track's episode."""
    given = np.concatenate([track.Ts_world_object.as_matrix() for track in tracks])
    true = np.concatenate([true_poses(e, t.times_s) for t, e in zip(tracks, episodes, strict=True)])
    covariances = np.concatenate([track.covariances for track in tracks])
    left, right = gauges(given, true)
    error = pose_errors(left.as_matrix() @ given @ right.as_matrix(), true)
    # The world's gauge turns the axes along which errors are taken.
    R = left.rotation.as_matrix()
    sigma = []
    for T, covariance in zip(given, covariances, strict=True):
        A = np.linalg.inv(about_world(T[:3, 3]))
        own = A @ covariance @ A.T
        sigma.append(np.sqrt([*np.diag(R @ own[:3, :3] @ R.T), *np.diag(R @ own[3:, 3:] @ R.T)]))
    half = _Z90 * np.array(sigma)
    return TrackError(
        1e3 * np.linalg.norm(error[:, :3], axis=1),
        np.degrees(np.linalg.norm(error[:, 3:], axis=1)),
        (np.abs(error) <= half).astype(np.float64),
        1e3 * half[:, :3].mean(axis=1),
    )


def true_poses(episode: EpisodeTruth, times_s: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 4 4"]:
    """The true poses at any times, by constant velocity between the recorded steps."""
    before = np.clip(np.searchsorted(episode.times_s, times_s) - 1, 0, len(episode.times_s) - 2)
    first, second = episode.times_s[before], episode.times_s[before + 1]
    share = np.clip((times_s - first) / (second - first), 0.0, 1.0)
    poses: SE3 = episode.Ts_world_object
    return poses[before].interpolate(poses[before + 1], share).as_matrix()


def pose_errors(given: Float[np.ndarray, "n 4 4"], true: Float[np.ndarray, "n 4 4"]) -> Float[np.ndarray, "n 6"]:
    """Shift of the origin [m] and turn [rad], along the world's axes."""
    turns = (SE3.from_matrix(given).rotation @ SE3.from_matrix(true).rotation.inverse()).log()
    return np.concatenate([given[:, :3, 3] - true[:, :3, 3], turns], axis=-1)


def gauges(given: Float[np.ndarray, "n 4 4"], true: Float[np.ndarray, "n 4 4"]) -> tuple[SE3, SE3]:
    """The motions of world and object frame by which given poses come nearest to the true ones."""
    from scipy.optimize import least_squares

    start = np.zeros(12)
    start[6:] = (stack([SE3.from_matrix(given[0]).inverse()])[0] @ SE3.from_matrix(true[0])).log()

    def residual(x: np.ndarray) -> np.ndarray:
        moved = SE3.exp(x[:6]).as_matrix() @ given @ SE3.exp(x[6:]).as_matrix()
        return np.asarray((pose_errors(moved, true) * np.repeat([1.0, 1.0 / _RAD_PER_M], 3)).ravel() / _SOFT_M)

    found = least_squares(residual, start, loss="soft_l1").x
    return SE3.exp(found[:6]), SE3.exp(found[6:])
