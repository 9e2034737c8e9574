"""Is this log what it says it is? Asked before anything is fitted, in a second or two when all is well."""

import numpy as np

from gemel.artifacts.finding import Finding, Severity
from gemel.stages.reconstruct.checks.calibrated import calibration_findings
from gemel.stages.reconstruct.checks.hypotheses import LogUnderTest
from gemel.stages.reconstruct.checks.log_findings import log_findings
from gemel.stages.reconstruct.checks.masks import mask_findings
from gemel.stages.reconstruct.checks.sightlines import Sightlines, meeting, sightlines
from gemel.stages.reconstruct.checks.stillness import stillness_findings
from gemel.stages.reconstruct.located import Located
from gemel.stages.reconstruct.observations import Observations

_LEAST_VIEWS = 3
_MISSED = 1.0
"""Lines of sight that miss the object's place by more of its extent show something else, or from elsewhere."""


def look_over(
    observations: Observations, located: Located, *, table_height_m: float, needs_overlap: bool = True
) -> tuple[Finding, ...]:
    """What is wrong with a log at the lab's own beliefs; empty when nothing is.

    `needs_overlap`: whether a shape is to be measured, which takes views that share it.
    """
    found = [*mask_findings(observations)]
    if located.problem is not None:
        found += log_findings(LogUnderTest(located.problem, table_height_m), needs_overlap=needs_overlap)
    if needs_overlap and not any(finding.severity is Severity.ERROR for finding in found):
        found += [finding for name in observations.masks for finding in _visible(observations, name)]
    return tuple(found)


def look_again(observations: Observations, located: Located, *, table_height_m: float) -> tuple[Finding, ...]:
    """What poses that are as good as they get tell about the log: one object at one place, and at rest?

    Asked after calibration: before it, cameras may be off by as much as a small object is large. If calibration had to
    go far, mistakes are looked for that it hid.
    """
    found = [*calibration_findings(located)]
    if found and located.problem is not None:
        found = [*log_findings(LogUnderTest(located.problem, table_height_m), is_suspicious=True), *found]
    for name in observations.masks:
        found += _sight_findings(observations, located, name)
    return (*found, *stillness_findings(observations, located))


def _visible(observations: Observations, name: str) -> list[Finding]:
    masks = observations.masks[name]
    visible = sum(mask is not None and int(mask.sum()) >= 20 for mask in masks)
    if visible >= _LEAST_VIEWS:
        return []
    return [Finding(
        "views-without-overlap", Severity.ERROR,
        f"{name!r} is visible in {visible} of {len(masks)} views; its shape needs views that share it.",
        f"record a scan in which all cameras look at {name!r}, from all sides", value=float(visible),
    )]  # fmt: skip


def _sight_findings(observations: Observations, located: Located, name: str) -> list[Finding]:
    masks = observations.masks[name]
    poses, lenses = located.Ts_world_camera, located.intrinsics
    miss = _median_miss(sightlines(masks, located.robots, poses, lenses))
    if miss <= _MISSED:
        return []
    mirrored = _median_miss(sightlines(masks, located.robots, poses, lenses, is_mirrored=True))
    if mirrored < 0.5 * min(miss, _MISSED):
        return [Finding(
            "mirrored-images", Severity.ERROR,
            f"Lines of sight to {name!r} miss each other by {miss:.1f} of its extent, and by {mirrored:.1f} if images "
            "are mirrored.", "switch off the cameras' horizontal flip and record again", value=miss,
        )]  # fmt: skip
    return [Finding(
        "views-disagree", Severity.ERROR,
        f"Lines of sight to {name!r} miss each other by {miss:.1f} of its extent (median; usually below 0.3).",
        "check camera poses, intrinsics and masks: they do not describe one object at one place", value=miss,
    )]  # fmt: skip


def _median_miss(lines: Sightlines) -> float:
    """How far the usual line passes the others' meeting point, in extents of the object; 0 if nothing can be said."""
    met = meeting(lines)
    return 0.0 if met is None else float(np.median(met.misses))
