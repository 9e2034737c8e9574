"""Time shifts between commands, joints and cameras, and what to say about them.

For actions that are joint targets the change of the target is compared with the joints' velocities; displacements
are compared as they are. Either way a robot without lag moves while it is commanded, so the shift is zero.
"""

import numpy as np
from jaxtyping import Float

from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.inspection import Estimate
from gemel.services.formats.source import RawEpisode, SourceLayout
from gemel.stages.ingest.motion import Shift, Window, joint_velocity, window

_STUDENT_95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36}
"""97.5 % quantile of Student's t by degrees of freedom: few windows estimate their own spread badly."""
_NOTICEABLE_PERIODS = 0.4
"""Shifts below this part of a sampling period cannot be told from the sampling itself."""


def action_window(
    raw: RawEpisode,
    layout: SourceLayout,
    scale: Float[np.ndarray, " joint"],
    period_s: float,
    max_shift_s: float,
) -> Window | None:
    """Commanded against measured motion, for one episode."""
    if not raw.action.shape[1] or not raw.state.shape[1] or not np.isfinite(raw.action).all():
        return None
    times, velocity = joint_velocity(raw.times_s, raw.state, scale)
    if _are_targets(raw, layout):
        _, commanded = joint_velocity(raw.times_s, raw.action, scale)
    else:
        # A displacement given at a step acts until the next one, so it belongs to the middle of that step.
        spread = raw.action.std(axis=0)
        commanded = raw.action[:-1] / np.where(spread > 0, spread, np.inf)
    return window(times, velocity, times, commanded, period_s=period_s, max_shift_s=max_shift_s)


def estimate(name: str, stream: str, shift: Shift) -> Estimate:
    """A shift as a row of the inspection."""
    return Estimate(name, stream, shift.seconds, shift.sigma_s, shift.window_count)


def check_offset(camera: str, shift: Shift, period_s: float) -> list[Finding]:
    """A camera whose clock or delivery differs from the joints' by a noticeable time."""
    if not _is_noticeable(shift, period_s):
        return []
    word = "behind" if shift.seconds < 0 else "ahead of"
    return [
        Finding(
            "camera-offset", Severity.WARNING,
            f"{camera!r} is {abs(shift.seconds):.3f} s {word} the joints (standard error "
            f"{shift.sigma_s:.3f} s, {shift.window_count} windows).",
            f"set twin.toml [cameras.{camera}] time_offset_s = {shift.seconds:.3f}; reconstruction refines it",
            stream=camera, value=shift.seconds,
        )
    ]  # fmt: skip


def check_lag(shift: Shift, period_s: float) -> list[Finding]:
    """Motion that follows its command by a noticeable time (or leads it, which no robot does)."""
    if not _is_noticeable(shift, period_s):
        return []
    if shift.seconds < 0:
        message = f"Joints move {-shift.seconds:.3f} s before they are commanded."
        remedy = "the log's actions are shifted against its states: check the recorder"
    else:
        message = f"Joints follow their commands {shift.seconds:.3f} s later."
        remedy = "the twin's actuators need this delay; identification measures it"
    return [Finding("action-lag", Severity.WARNING, message, remedy, stream="actions", value=shift.seconds)]


def _are_targets(raw: RawEpisode, layout: SourceLayout) -> bool:
    """Actions that stand for joint positions: one per joint, and near the joints' own values."""
    if raw.action.shape != raw.state.shape:
        return False
    if layout.action_names == layout.joint_names:
        return True
    spread = np.ptp(raw.state, axis=0).max()
    return bool(np.abs(raw.action - raw.state).mean() < max(spread, 1e-6))


def _is_noticeable(shift: Shift, period_s: float) -> bool:
    """Larger than the sampling can hide and than chance explains (95 %); one window alone proves nothing."""
    if np.isnan(shift.sigma_s):
        return False
    factor = _STUDENT_95.get(shift.window_count - 1, 2.0)
    return abs(shift.seconds) > max(_NOTICEABLE_PERIODS * period_s, factor * shift.sigma_s)
