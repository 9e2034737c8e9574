"""Offsets between the cameras' clocks and the joints', and what to say about them.

Each camera is judged on its own windows. Cameras that hang on one computer are usually late together, so there is a
second judgement for all of them at once: in every episode the cameras' curves are averaged, and episodes, not
cameras, are left out in turn, because the cameras of one episode watch the same motion. It is only made when no
camera's own offset speaks against it.
"""

from collections.abc import Mapping

from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.inspection import Estimate
from gemel.stages.ingest.lag import estimate, is_noticeable, margin_s
from gemel.stages.ingest.motion import Shift, Window, combine, merged

EpisodeWindows = Mapping[str, Window]
"""One camera's windows by episode."""


def camera_timing(windows: Mapping[str, EpisodeWindows], period_s: float) -> tuple[list[Estimate], list[Finding]]:
    """Offsets of the cameras that show the robot's motion, and findings about those that are noticeable."""
    shifts = {name: shift for name, found in windows.items() if (shift := combine(list(found.values()))) is not None}
    estimates = [estimate("camera offset", name, shift) for name, shift in shifts.items()]
    findings = [_finding(name, shift) for name, shift in shifts.items() if is_noticeable(shift, period_s)]
    shared = _shared(windows, shifts, period_s)
    if shared is not None:
        estimates.append(estimate("shared camera offset", "cameras", shared))
        if is_noticeable(shared, period_s) and len(findings) < len(shifts):
            findings.append(_shared_finding(tuple(shifts), shared))
    return estimates, findings


def _shared(windows: Mapping[str, EpisodeWindows], shifts: Mapping[str, Shift], period_s: float) -> Shift | None:
    """One offset for all cameras; None with fewer than two, or where one of them has another."""
    if len(shifts) < 2:
        return None
    episodes = dict.fromkeys(episode for name in shifts for episode in windows[name])
    together = [merged([windows[name][e] for name in shifts if e in windows[name]]) for e in episodes]
    shared = combine(together)
    if shared is None:
        return None
    is_one_clock = all(not abs(s.seconds - shared.seconds) > margin_s(s, period_s) for s in shifts.values())
    return shared if is_one_clock else None


def _finding(camera: str, shift: Shift) -> Finding:
    return Finding(
        "camera-offset", Severity.WARNING,
        f"{camera!r} is {abs(shift.seconds):.3f} s {_side(shift)} the joints (standard error "
        f"{shift.sigma_s:.3f} s, {shift.window_count} windows).",
        f"set twin.toml [cameras.{camera}] time_offset_s = {shift.seconds:.3f}; reconstruction refines it",
        stream=camera, value=shift.seconds,
    )  # fmt: skip


def _shared_finding(cameras: tuple[str, ...], shift: Shift) -> Finding:
    named = ", ".join(repr(camera) for camera in cameras)
    return Finding(
        "camera-offset", Severity.WARNING,
        f"Taken together, {named} are {abs(shift.seconds):.3f} s {_side(shift)} the joints (standard error "
        f"{shift.sigma_s:.3f} s, {shift.window_count} episodes).",
        f"set time_offset_s = {shift.seconds:.3f} for each of them in twin.toml [cameras]; reconstruction refines it",
        stream="cameras", value=shift.seconds,
    )  # fmt: skip


def _side(shift: Shift) -> str:
    return "behind" if shift.seconds < 0 else "ahead of"
