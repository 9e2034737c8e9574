"""Whether the scene rests while the cameras look at it: objects, and what fixed cameras see behind the robot."""

import numpy as np
from jaxtyping import Bool, Float

from gemel.artifacts.camera import WORLD
from gemel.artifacts.finding import Finding, Severity
from gemel.stages.reconstruct.checks.sightlines import Sightlines, meeting, sightlines
from gemel.stages.reconstruct.located import Located
from gemel.stages.reconstruct.observations import Observations

_MOVED = 0.6
"""An object that is found so much of its extent elsewhere in the second half has moved."""
_LEAST_IOU = 0.5
"""Masks of a fixed camera in the first and the last views that overlap less show that the object moved."""
_CHANGED = 0.15
"""Change of brightness, 0 to 1, that is no shadow of the arm."""
_CHANGED_PART = 0.004
"""Part of a fixed camera's image that may change that much without anything having moved."""
_REMEDY = "record the scan again while nothing but the robot moves; let objects come to rest first"


def stillness_findings(observations: Observations, located: Located) -> tuple[Finding, ...]:
    """What moved, and when."""
    found = [_moved(observations, located, name) for name in observations.masks]
    found += [_changed(observations, located, c) for c in range(len(observations.cameras))]
    return tuple(finding for finding in found if finding is not None)


def _moved(observations: Observations, located: Located, name: str) -> Finding | None:
    """The object by lines of sight of either half of the scan, or by its mask in a fixed camera."""
    shift = _shift(observations, located, name)
    if shift > _MOVED:
        return Finding(
            "scene-moves", Severity.ERROR,
            f"{name!r} lies {shift:.1f} of its extent elsewhere in the second half of the scan than in the first: "
            "it moved.", _REMEDY, value=shift,
        )  # fmt: skip
    for c, camera in enumerate(observations.cameras):
        overlap = _own_overlap(observations, located, name, c)
        if overlap is not None and overlap < _LEAST_IOU:
            return Finding(
                "scene-moves", Severity.ERROR,
                f"The masks of {name!r} in the first and the last views of the fixed camera overlap by {overlap:.0%}: "
                "it moved.", _REMEDY, stream=camera.name, value=overlap,
            )  # fmt: skip
    return None


def _shift(observations: Observations, located: Located, name: str) -> float:
    lines = sightlines(
        observations.masks[name], located.robots, located.Ts_world_camera, located.intrinsics,
    )  # fmt: skip
    times_s = observations.times_s[lines.view]
    middle = np.median(times_s) if len(times_s) else 0.0
    halves: list[Sightlines] = [lines.subset(times_s <= middle), lines.subset(times_s > middle)]
    first, second = (meeting(half) for half in halves)
    if first is None or second is None:
        return 0.0
    # Halves that do not agree in themselves tell of wrong poses, not of motion.
    if max(np.median(first.misses), np.median(second.misses)) > 0.5:
        return 0.0
    return float(np.linalg.norm(first.point - second.point) / min(first.extent_m, second.extent_m))


def _own_overlap(observations: Observations, located: Located, name: str, c: int) -> float | None:
    """IoU of the masks of a fixed camera's first and last free third; None if it moves or has too few."""
    if not _is_fixed(observations, c):
        return None
    masks = observations.masks[name]
    own = [v for v in np.flatnonzero(observations.camera == c) if _is_free(masks[v], located.robots[v])]
    if len(own) < 4:
        return None
    third = max(len(own) // 3, 1)
    first, last = (np.mean([np.asarray(masks[v]) for v in part], axis=0) > 0.5 for part in (own[:third], own[-third:]))
    return float((first & last).sum() / max(int((first | last).sum()), 1))


def _is_free(mask: "np.ndarray | None", robot: Bool[np.ndarray, "h w"]) -> bool:
    return mask is not None and int(mask.sum()) >= 20 and not bool((mask & robot).any())


def _changed(observations: Observations, located: Located, c: int) -> Finding | None:
    """A fixed camera's background between the first and the last third of its views, where no robot is."""
    if not _is_fixed(observations, c):
        return None
    part = changed_part(observations, located, c)
    if part <= _CHANGED_PART:
        return None
    return Finding(
        "background-changes", Severity.WARNING,
        f"{part:.1%} of what the fixed camera sees beside the robot changes between the first and the last views "
        f"(usually below {_CHANGED_PART:.1%}).", _REMEDY, stream=observations.cameras[c].name, value=part,
    )  # fmt: skip


def changed_part(observations: Observations, located: Located, c: int) -> float:
    """Part of the image that is free of the robot early and late and yet differs."""
    from scipy.ndimage import binary_dilation

    own = np.flatnonzero(observations.camera == c)
    if len(own) < 6:
        return 0.0
    reach = max(round(0.03 * observations.images[own[0]].shape[1]), 1)
    images = np.stack([observations.images[v].mean(axis=-1) for v in own])
    # Exposure may drift; a change is one against the rest of the image.
    images = images - np.median(images, axis=(1, 2), keepdims=True)
    free = ~np.stack([binary_dilation(located.robots[v], iterations=reach) for v in own])
    third = len(own) // 3
    early, late = _median(images[:third], free[:third]), _median(images[-third:], free[-third:])
    is_known = np.isfinite(early) & np.isfinite(late)
    changed = is_known & (np.abs(np.nan_to_num(early - late)) > _CHANGED)
    return float(changed.sum() / max(int(is_known.sum()), 1))


def _median(images: Float[np.ndarray, "t h w"], free: Bool[np.ndarray, "t h w"]) -> Float[np.ndarray, "h w"]:
    """Median over the frames in which each pixel is free; NaN where it never is."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmedian(np.where(free, images, np.nan), axis=0), dtype=np.float64)


def _is_fixed(observations: Observations, c: int) -> bool:
    camera = observations.cameras[c]
    return camera.parent == WORLD and not camera.has_pose_per_frame
