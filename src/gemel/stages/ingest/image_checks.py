"""What a bounded sample of decoded frames says about a camera: frozen, blurred, badly exposed, repeated frames."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from jaxtyping import Float, UInt8

from gemel.artifacts.finding import Finding, Severity

_THUMBNAIL_CELLS = 48
_SATURATED = 250
_MAX_SATURATED = 0.25
_MIN_BRIGHTNESS = 12.0
_MIN_SHARPNESS = 0.35
"""Real sharp frames (SO-101 wrist camera, DTU) have about 1.0; blurred by 4 px and with sensor noise, below 0.35."""
_MIN_CONTRAST = 5.0
_STILL = 1.0
"""Mean change of a thumbnail, in grey levels, below which two frames show the same; key frames alone give 0.5."""
_LIVE = 0.05
"""Median change from frame to frame that the noise of a live sensor leaves, even after compression."""
_MOVING = 0.35
"""Change from frame to frame above which a scene moves."""
_LONGEST_FILL = 3
"""So many frames in a row may be filled in; longer stretches are gaps of another kind."""


@dataclass(frozen=True, eq=False)
class FrameLook:
    """What is kept of one decoded frame."""

    episode: str
    step: int
    time_s: float
    thumbnail: Float[np.ndarray, "h w"]
    """Box-averaged grey levels, about 48 cells wide: averaging leaves little of the sensor noise."""
    saturated: float
    """Part of the pixels that are white."""
    brightness: float
    contrast: float
    sharpness: float
    """Strength of the steepest edges (99.5th percentile of neighbour differences) over the image's contrast."""


@dataclass
class CameraLook:
    """All looks at one camera."""

    camera: str
    spread: list[FrameLook] = field(default_factory=list)
    """Frames from all over the log."""
    windows: list[list[FrameLook]] = field(default_factory=list)
    """Runs of consecutive frames where the robot moves."""


def look_at(image: UInt8[np.ndarray, "h w 3"], *, episode: str, step: int, time_s: float) -> FrameLook:
    """Measure one frame."""
    grey = image.astype(np.float32).mean(axis=2)
    contrast = float(grey.std())
    return FrameLook(
        episode=episode,
        step=step,
        time_s=time_s,
        thumbnail=thumbnail(grey),
        saturated=float((image.min(axis=2) >= _SATURATED).mean()),
        brightness=float(grey.mean()),
        contrast=contrast,
        sharpness=_steepest(grey) / contrast if contrast > 0 else 0.0,
    )


def _steepest(grey: Float[np.ndarray, "H W"]) -> float:
    """99.5th percentile of the differences between neighbours, in grey levels: sensor noise hardly moves it."""
    steps = [np.abs(np.diff(grey, axis=axis)).ravel() for axis in (0, 1)]
    return float(np.percentile(np.concatenate(steps), 99.5))


def thumbnail(grey: Float[np.ndarray, "H W"], cells: int = _THUMBNAIL_CELLS) -> Float[np.ndarray, "h w"]:
    """Averages over square cells, about `cells` across."""
    size = max(1, grey.shape[1] // cells)
    height, width = grey.shape[0] // size * size, grey.shape[1] // size * size
    blocks = grey[:height, :width].reshape(height // size, size, width // size, size)
    return blocks.mean(axis=(1, 3)).astype(np.float64)


def change(first: FrameLook, second: FrameLook) -> float:
    """Mean absolute difference of two thumbnails, in grey levels."""
    return float(np.abs(first.thumbnail - second.thumbnail).mean())


def check_camera(look: CameraLook, *, robot_moves: bool) -> list[Finding]:
    """Findings about one camera."""
    if not look.spread:
        return []
    checks = (_exposure(look), _blur(look), _frozen(look, robot_moves), _repeated(look))
    return [finding for finding in checks if finding is not None]


def _exposure(look: CameraLook) -> Finding | None:
    saturated = float(np.median([frame.saturated for frame in look.spread]))
    brightness = float(np.median([frame.brightness for frame in look.spread]))
    if saturated > _MAX_SATURATED:
        return _finding(
            look, "over-exposed", f"{saturated:.0%} of the pixels of {look.camera!r} are white",
            "shorten the exposure: white pixels hold no texture to reconstruct from", saturated,
        )  # fmt: skip
    if brightness < _MIN_BRIGHTNESS:
        return _finding(
            look, "under-exposed", f"{look.camera!r} is nearly black: mean level {brightness:.0f} of 255",
            "open the aperture, lengthen the exposure or light the scene", brightness,
        )  # fmt: skip
    return None


def _blur(look: CameraLook) -> Finding | None:
    usable = [frame.sharpness for frame in look.spread if frame.contrast > _MIN_CONTRAST]
    sharpness = float(np.median(usable)) if usable else float("inf")
    if sharpness >= _MIN_SHARPNESS:
        return None
    return _finding(
        look, "blurred", f"{look.camera!r} looks out of focus: sharpness {sharpness:.2f}, expected above "
        f"{_MIN_SHARPNESS}", "refocus the lens or clean it", sharpness,
    )  # fmt: skip


def _frozen(look: CameraLook, robot_moves: bool) -> Finding | None:
    changes = [change(look.spread[0], frame) for frame in look.spread[1:]]
    changes += [change(window[0], frame) for window in look.windows for frame in window[1:]]
    steps = [change(a, b) for window in look.windows for a, b in pairwise(window)]
    if not changes or max(changes) >= _STILL or (steps and np.median(steps) >= _LIVE):
        return None
    if robot_moves:
        return _finding(
            look, "frozen-camera", f"{look.camera!r} shows the same picture throughout while the robot moves",
            "restart the camera driver and record again", max(changes),
        )  # fmt: skip
    return _finding(
        look, "static-camera", f"Nothing changes in {look.camera!r}, and the robot does not move either",
        "nothing can be learnt from motion in this log", max(changes), Severity.NOTE,
    )  # fmt: skip


def _repeated(look: CameraLook) -> Finding | None:
    """Frames that repeat the one before them and are made up for by a jump: the recorder filled in."""
    count, total, first = 0, 0, None
    for window in look.windows:
        steps = np.array([change(a, b) for a, b in pairwise(window)])
        repeats = _filled_in(steps)
        total += len(steps)
        count += len(repeats)
        if first is None and len(repeats):
            first = window[repeats[0] + 1]
    if first is None:
        return None
    return Finding(
        "duplicated-frames", Severity.WARNING,
        f"{count} of {total} sampled frames of {look.camera!r} repeat the frame before them while the scene moves.",
        "the camera dropped frames and the recorder filled in: lower the frame rate or the load",
        episode=first.episode, stream=look.camera, time_s=first.time_s, value=float(count),
    )  # fmt: skip


def _filled_in(steps: Float[np.ndarray, " interval"]) -> list[int]:
    """Intervals without change inside motion: moving before, and a jump of more than the usual step after.

    A robot that pauses also gives frames without change, but then it starts again slowly.
    """
    moving = steps[steps >= _MOVING]
    usual = float(np.median(moving)) if len(moving) else np.inf
    found: list[int] = []
    for start in range(1, len(steps) - 1):
        end = start
        while end < len(steps) - 1 and steps[end] < 0.02 * usual and end - start < _LONGEST_FILL:
            end += 1
        is_run = end > start and steps[start - 1] >= 0.5 * usual
        if is_run and steps[end] >= 1.2 * usual:
            found += range(start, end)
    return found


def _finding(
    look: CameraLook,
    code: str,
    message: str,
    remedy: str,
    value: float,
    severity: Severity = Severity.WARNING,
) -> Finding:
    worst = look.spread[0]
    return Finding(code, severity, message + ".", remedy, worst.episode, look.camera, worst.time_s, value)
