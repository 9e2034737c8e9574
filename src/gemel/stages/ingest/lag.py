"""Time shifts between commands and joints, what to say about them, and when a shift is worth a word.

For actions that are joint targets the change of the target is compared with the joints' velocities; displacements
are compared as they are. Either way a robot without lag moves while it is commanded, so the shift is zero.
"""

import numpy as np
from jaxtyping import Float

from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.inspection import Estimate
from gemel.services.formats.source import RawEpisode, SourceLayout
from gemel.stages.ingest.motion import Shift, Window, joint_velocity, window

_STUDENT_99 = {1: 63.66, 2: 9.92, 3: 5.84, 4: 4.60, 5: 4.03, 6: 3.71, 7: 3.50}
_STUDENT_99_MANY = 3.36
"""99.5 % quantile of Student's t by degrees of freedom: few windows estimate their own spread badly.

A log gets about five such judgements (cameras one by one and together, and the lag); with 1 % of chance in each, 95 %
of sound logs get no complaint at all.
"""
_NOTICEABLE_PERIODS = 0.5
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


def check_lag(shift: Shift, period_s: float) -> list[Finding]:
    """Motion that follows its command by a noticeable time (or leads it, which no robot does)."""
    if not is_noticeable(shift, period_s):
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


def is_noticeable(shift: Shift, period_s: float) -> bool:
    """Larger than the sampling can hide and than chance explains (99 %); one window alone proves nothing."""
    return abs(shift.seconds) > margin_s(shift, period_s)


def margin_s(shift: Shift, period_s: float) -> float:
    """How far the true shift may lie from the measured one [s]; NaN where that is unknown."""
    factor = _STUDENT_99.get(shift.window_count - 1, _STUDENT_99_MANY)
    return float(np.maximum(_NOTICEABLE_PERIODS * period_s, factor * shift.sigma_s))
