"""What the segment stage noticed: masks that disagree, are empty everywhere, or cover everything."""

import numpy as np

from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.segmentation import MaskTrack

_FULL = 0.9
_EMPTY_PART = 0.5


def not_found(name: str) -> Finding:
    """No mask at all."""
    return Finding(
        "object-not-found", Severity.WARNING,
        f"No frame shows {name!r}: without a prompt it has to stand on the table in a scan with calibrated cameras.",
        "point at it with `gemel prompt DIR`, record a scan, or give the cameras in twin.toml",
    )  # fmt: skip


def camera_is_blind(camera: str) -> Finding:
    """Nothing but noise."""
    return Finding(
        "camera-blind", Severity.WARNING, f"No frame of camera {camera!r} shows anything: it is left out.",
        "uncover it, or lengthen its exposure; `gemel inspect` shows its brightness", stream=camera,
    )  # fmt: skip


def track_findings(track: MaskTrack, shares: np.ndarray, min_confidence: float, *, is_scan: bool) -> list[Finding]:
    """Findings about one camera's masks; `shares` is the part of each image that its mask covers."""
    found = []
    episode, stream = track.episode, track.camera
    flagged = np.flatnonzero(track.confidence < min_confidence)
    if len(flagged):
        steps = ", ".join(str(track.steps[i]) for i in flagged[:6]) + (" ..." if len(flagged) > 6 else "")
        found.append(
            Finding("mask-unsure", Severity.WARNING,
                    f"{len(flagged)} of {len(track.steps)} masks of {track.object!r} are unsure or disagree with their "
                    f"neighbours (steps {steps}); later stages leave them out.",
                    "correct one of them with `gemel prompt DIR`; the correction is propagated",
                    value=float(len(flagged)), episode=episode, stream=stream)
        )  # fmt: skip
    if (shares > _FULL).any():
        found.append(
            Finding("mask-full", Severity.WARNING,
                    f"{int((shares > _FULL).sum())} masks of {track.object!r} cover (nearly) the whole image.",
                    "point at the object with `gemel prompt DIR`, or check the masks that you gave",
                    episode=episode, stream=stream)
        )  # fmt: skip
    empty = float((shares == 0).mean())
    if is_scan and _EMPTY_PART < empty < 1.0:
        found.append(
            Finding("mask-empty", Severity.WARNING,
                    f"{empty:.0%} of the masks of {track.object!r} in a scan are empty: the camera hardly sees it, or "
                    "it was not recognised.",
                    "check that cameras are not swapped and images not mirrored, or point at the object with "
                    "`gemel prompt DIR`", value=empty, episode=episode, stream=stream)
        )  # fmt: skip
    return found
