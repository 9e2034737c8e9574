"""Masks that cannot be right: empty ones, and ones that cover everything."""

import numpy as np

from gemel.artifacts.finding import Finding, Severity
from gemel.stages.reconstruct.observations import Observations

_LEAST_PIXELS = 20
"""A smaller mask shows nothing of an object."""
_FULL = 0.9
"""A mask that takes more of its image than this leaves no outline."""
_FEW = 0.2
"""Part of the views that may be full before the segmentation itself is to blame."""


def mask_findings(observations: Observations) -> tuple[Finding, ...]:
    """What is wrong with the masks of each object."""
    found: list[Finding] = []
    for name, masks in observations.masks.items():
        given = [v for v, mask in enumerate(masks) if mask is not None]
        parts = np.array([_part(masks[v], observations.known[v]) for v in given])
        sizes = np.array([int(np.sum(np.asarray(masks[v]))) for v in given])
        full = [given[i] for i in np.flatnonzero(parts > _FULL)]
        if not len(given) or sizes.max() < _LEAST_PIXELS:
            found.append(_empty(name, len(given), len(observations)))
        elif full:
            found.append(_full(observations, name, full, len(given)))
    return tuple(found)


def _part(mask: "np.ndarray | None", known: np.ndarray) -> float:
    return float(np.sum(np.asarray(mask) & known) / max(int(known.sum()), 1))


def _empty(name: str, given: int, count: int) -> Finding:
    return Finding(
        "mask-empty",
        Severity.ERROR,
        f"The masks of {name!r} are empty: {given} of {count} views have one, and none shows {_LEAST_PIXELS} pixels.",
        f"point at {name!r} again with `gemel prompt`, in a view in which it is large",
        value=float(given),
    )


def _full(observations: Observations, name: str, full: list[int], given: int) -> Finding:
    cameras = sorted({observations.cameras[observations.camera[v]].name for v in full})
    return Finding(
        "mask-covers-everything",
        Severity.ERROR if len(full) > _FEW * given else Severity.WARNING,
        f"The mask of {name!r} covers more than {_FULL:.0%} of the image in {len(full)} of {given} views.",
        f"point at {name!r} and at what is not it with `gemel prompt`; keep the whole object in the image",
        stream=", ".join(cameras),
        value=len(full) / given,
    )
