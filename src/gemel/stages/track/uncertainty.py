"""How sure a track is, learnt without any truth from two things that must agree but for errors.

Noise averages out over time; errors of shape, light and calibration do not. They show in how far two cameras disagree
at the same time, and in how far the images alone lift or tilt an object that lies on the table.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gemel.services.tracking.evidence import about_world
from gemel.services.tracking.refine import FramePose
from gemel.services.tracking.resting import Resting
from gemel.services.tracking.smoother import Smoothed

_SHARE = 0.9
_CHI_SQUARE_3 = 6.251
_CHI_SQUARE_6 = 10.645
"""Below these lie nine of ten draws from chi-square distributions with three and six degrees of freedom. Errors have
heavier tails than noise, and intervals are to hold nine of ten."""
_HEIGHT_AND_TILT = slice(2, 5)
_AT_REST = 0.5
"""Part of the prior's full weight above which an object counts as lying on the table."""
_LEAST_FRAMES = 20


def inflation(poses: Sequence[FramePose | None], resting: Resting) -> float:
    """By how much one frame's variances have to grow to explain what is seen; at least 1."""
    known = [pose for pose in poses if pose is not None]
    return max(1.0, disagreement(known), off_the_table(known, resting))


def disagreement(poses: Sequence[FramePose]) -> float:
    """Squared distance between the poses that two cameras ask for, over what their information allows."""
    gaps = [gap for pose in poses if (gap := _gap(pose)) is not None]
    return float(np.quantile(gaps, _SHARE)) / _CHI_SQUARE_6 if gaps else 0.0


def _gap(pose: FramePose) -> float | None:
    """Of the two cameras that see most; None for a single one."""
    seen = sorted((e for e in pose.evidence if e.is_any), key=lambda e: -e.visible_px)[:2]
    if len(seen) < 2:
        return None
    spreads = [np.linalg.pinv(e.information, hermitian=True) for e in seen]
    apart = spreads[0] @ seen[0].gradient - spreads[1] @ seen[1].gradient
    return float(apart @ np.linalg.solve(spreads[0] + spreads[1], apart))


def off_the_table(poses: Sequence[FramePose], resting: Resting) -> float:
    """Squared height and tilt that the images alone give a lying object, over what their information allows.

    What all frames share is how the scan placed the object, and is left out.
    """
    gaps, spreads = [], []
    for pose in poses:
        weights = np.diag(pose.prior[0])[_HEIGHT_AND_TILT]
        if not weights[0] * resting.height_sigma_m**2 > _AT_REST:
            continue
        spread = np.linalg.inv(pose.information - pose.prior[0])
        wanted = spread @ np.sum([e.gradient for e in pose.evidence], axis=0)
        gaps.append(wanted[_HEIGHT_AND_TILT] - pose.prior[1][_HEIGHT_AND_TILT] / weights)
        spreads.append(spread[_HEIGHT_AND_TILT, _HEIGHT_AND_TILT])
    if len(gaps) < _LEAST_FRAMES:
        return 0.0
    apart = np.stack(gaps) - np.median(gaps, axis=0)
    squared = np.einsum("ni,ni->n", apart, np.linalg.solve(np.stack(spreads), apart[..., None])[..., 0])
    return float(np.quantile(squared, _SHARE)) / _CHI_SQUARE_3


def track_covariances(
    smoothed: Smoothed, poses: Sequence[FramePose | None], growth: float
) -> Float[np.ndarray, "t 6 6"]:
    """Of the left perturbations: what smoothing leaves of noise, plus one frame's errors, grown, which last."""
    covariances = []
    lasting = np.zeros((6, 6))
    for T, noise, pose in zip(smoothed.Ts_world_object, smoothed.covariances, poses, strict=True):
        if pose is not None:
            seen = pose.information - pose.prior[0]
            lasting = np.linalg.inv(seen / growth + pose.prior[0])
        A = about_world(T[:3, 3])
        covariances.append(A @ (noise + lasting) @ A.T)
    return np.stack(covariances)
