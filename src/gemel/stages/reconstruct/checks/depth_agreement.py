"""Whether logged depth can be meant for these cameras: same unit, same scale, same image."""

from dataclasses import replace

import numpy as np

from gemel.artifacts.finding import Finding, Severity
from gemel.stages.reconstruct.hull import whereabouts
from gemel.stages.reconstruct.object_views import ObjectViews
from gemel.stages.reconstruct.views import Views

LARGEST_RATIO = 1.4
"""An object's surface is not so much nearer or farther than where the lines of sight to its middle meet."""


def with_trusted_depth(views: ObjectViews, name: str) -> tuple[ObjectViews, tuple[Finding, ...]]:
    """The views without their depth where it contradicts the cameras, and a finding that says so."""
    ratio = depth_ratio(views.fitted)
    if ratio is None or 1.0 / LARGEST_RATIO < ratio < LARGEST_RATIO:
        return views, ()
    withheld = None if views.withheld is None else replace(views.withheld, depths=None)
    finding = Finding(
        code="depth-disagrees",
        severity=Severity.WARNING,
        message=f"Logged depth puts {name!r} at {ratio:.3g} times the distance at which the cameras' lines of sight to "
        "it meet; its depth is not used.",
        remedy="log depth in millimetres, aligned to the colour image, and camera poses in metres",
        value=ratio,
    )
    return replace(views, fitted=replace(views.fitted, depths=None), withheld=withheld), (finding,)


def depth_ratio(views: Views) -> float | None:
    """Measured distance over that of the place where lines of sight meet, in the median over views; None without."""
    if views.depths is None:
        return None
    middle, _ = whereabouts(views)
    expected_m = (views.Ts_world_camera.inverse() @ middle)[:, 2]
    is_measured = (views.masks > 0.5) & ~views.ignore & (views.depths > 0.0)
    ratios = [
        np.median(depth[chosen]) / z
        for depth, chosen, z in zip(views.depths, is_measured, expected_m, strict=True)
        if chosen.any()
    ]
    return float(np.median(ratios)) if ratios else None
