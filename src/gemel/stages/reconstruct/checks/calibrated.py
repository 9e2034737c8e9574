"""Whether a calibration that was found can be believed: how far it had to go from what the lab believes."""

import numpy as np

from gemel.artifacts.finding import Finding, Severity
from gemel.stages.reconstruct.calibration.unknowns import Unknowns
from gemel.stages.reconstruct.located import Located

_FAR_SIGMAS = 4.0
"""An unknown that is farther from belief than this many standard deviations."""
_ROUGH_OUTLINE_PX = 1.5
"""Usual outlines of the robot agree within half a pixel at 160 px."""


def calibration_findings(located: Located) -> tuple[Finding, ...]:
    """What a calibration had to do that it should not have to."""
    if located.problem is None or located.calibration is None or located.info is None:
        return ()
    unknowns, theta = located.problem.rig.unknowns, located.calibration.theta
    found = [_focal(unknowns, theta, name) for name in unknowns.cameras]
    found += [_far(unknowns, theta), _rough(located.info.outline_sigma_px)]
    return tuple(finding for finding in found if finding is not None)


def _focal(unknowns: Unknowns, theta: np.ndarray, camera: str) -> Finding | None:
    """A prior that is pulled so far still holds the estimate back: the true lens may be farther off."""
    k = unknowns.log_focal(camera)
    scale = float(np.exp(theta[k]))
    if abs(theta[k]) < _FAR_SIGMAS * unknowns.sigma[k]:
        return None
    return Finding(
        "wrong-intrinsics", Severity.ERROR,
        f"The images want {scale:.3f} times the given focal length or a change beyond, "
        f"{abs(theta[k]) / unknowns.sigma[k]:.1f} of its standard deviations: another lens, crop or image size.",
        "give the intrinsics of the images as they are logged in twin.toml, or a larger `focal_sigma_px`",
        stream=camera, value=scale,
    )  # fmt: skip


def _far(unknowns: Unknowns, theta: np.ndarray) -> Finding | None:
    away = np.abs(theta) / unknowns.sigma
    away[[unknowns.log_focal(camera) for camera in unknowns.cameras]] = 0.0  # told on their own
    worst = int(np.argmax(away))
    if away[worst] < _FAR_SIGMAS:
        return None
    return Finding(
        "calibration-far-from-belief", Severity.WARNING,
        f"Calibration moved {unknowns.names[worst]} by {away[worst]:.1f} of its standard deviations.",
        "check what twin.toml says about it, or give it a larger uncertainty",
        stream=unknowns.names[worst], value=float(away[worst]),
    )  # fmt: skip


def _rough(outline_sigma_px: float) -> Finding | None:
    if not outline_sigma_px > _ROUGH_OUTLINE_PX:
        return None
    return Finding(
        "outline-mismatch", Severity.WARNING,
        f"The robot's outline misses the images by {outline_sigma_px:.1f} px after calibration (usually 0.4).",
        "check that the robot model is the one in the images, tools and covers included", value=outline_sigma_px,
    )  # fmt: skip
