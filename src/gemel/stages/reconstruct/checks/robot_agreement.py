"""Whether a fixed camera sees change where the robot's model moves, by correlation of the two over all its frames.

Both are blurred by more than a calibration error of the usual size, so that only gross mistakes matter: other images,
mirrored ones, other joints, another lens.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float32

from gemel.services.kinematics.robot_surface import RobotSurface
from gemel.stages.reconstruct.calibration.robot_in_view import robot_mask
from gemel.stages.reconstruct.calibration.robot_rig import Poses

_BLUR_PART = 0.025
"""Blur as part of the image width."""
_STRONG = 0.2
"""Change of colour that counts in full."""
_NOISE = 0.03
"""Change of colour that is noise."""

Movie = Float32[np.ndarray, "t h w"]


def observed_change(images: Sequence[Float32[np.ndarray, "h w 3"]]) -> Movie:
    """How much each frame differs from the median of all, 0 to 1, blurred."""
    stack = np.stack(images)
    change = np.abs(stack - np.median(stack, axis=0)).mean(axis=-1)
    return _blurred(np.clip((change - _NOISE) / (_STRONG - _NOISE), 0.0, 1.0))


def predicted_change(surface: RobotSurface, poses: Poses, views: Sequence[int], shape: tuple[int, int]) -> Movie:
    """Where the robot is in a frame and usually is not, or the other way round, blurred."""
    robots: Bool[np.ndarray, "t h w"] = np.stack([robot_mask(surface, poses, v, shape, margin_px=0) for v in views])
    usual = robots.mean(axis=0) > 0.5
    return _blurred((robots != usual).astype(np.float32))


def agreement(observed: Movie, predicted: Movie) -> float:
    """Correlation of the two about their mean over time, -1 to 1; NaN if the robot never moves in view."""
    first, second = observed - observed.mean(axis=0), predicted - predicted.mean(axis=0)
    size = float(np.sqrt(np.sum(first**2) * np.sum(second**2)))
    if float(predicted.max()) < 0.2:
        return float("nan")
    return float(np.sum(first * second)) / max(size, 1e-12)


def _blurred(movie: np.ndarray) -> Movie:
    from scipy.ndimage import gaussian_filter

    sigma = _BLUR_PART * movie.shape[2]
    return np.asarray(gaussian_filter(movie, (0.0, sigma, sigma)), dtype=np.float32)
