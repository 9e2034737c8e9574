"""Gross mistakes in a log with a robot: swapped cameras, mirrored images, joints in another order, another lens.

Looked for only when a camera's score is low, and named only when undoing the mistake explains the images much better.
"""

import numpy as np

from gemel.artifacts.finding import Finding, Severity
from gemel.stages.reconstruct.checks.hypotheses import LogUnderTest, Reading, readings
from gemel.stages.reconstruct.checks.table_agreement import overlaps

LOW_ROBOT = 0.6
"""A fixed camera below this correlation is looked into; right logs reach 0.67 to 0.89, wrong ones 0.4 and less."""
LOW_TABLE = 0.35
"""The same for a moving one and its table; right logs reach 0.5 to 0.98, wrong ones 0.17 and less."""
_LOST_ROBOT = 0.3
"""Below this, and nothing explains it: the robot is not where the log says."""
_LEAST_GAIN = 0.08
"""A mistake has to be worth this much, on average over the cameras that it concerns."""
_LEAST_OVERLAP = 0.15


def log_findings(log: LogUnderTest, *, is_suspicious: bool = False, needs_overlap: bool = True) -> tuple[Finding, ...]:
    """The mistakes that explain the log better than itself; `is_suspicious`: try them all, whatever the scores."""
    apart = _apart(log) if needs_overlap else None
    if apart is not None:
        return (apart,)
    low = [c for c, score in log.given.items() if score < (LOW_ROBOT if log.is_fixed(c) else LOW_TABLE)]
    if not low and not is_suspicious:
        return ()
    named = _named(log)
    if named:
        return named
    return tuple(_lost(log, c) for c in low if log.is_fixed(c) and log.given[c] < _LOST_ROBOT)


def _named(log: LogUnderTest) -> tuple[Finding, ...]:
    """The best reading; and those of other cameras that are as clear on their own."""
    tried = [(reading, log.scores(reading)) for reading in readings(log)]
    gains = [(_gain(log, scores), reading, scores) for reading, scores in tried]
    found: list[Finding] = []
    taken: set[int] = set()
    for gain, reading, scores in sorted(gains, key=lambda item: -item[0]):
        # Joints move all cameras on the robot, so another order explains those too.
        concerned = set(range(len(log.cameras)) if reading.order else reading.concerned)
        if gain < _LEAST_GAIN or not _is_good(log, scores) or concerned & taken:
            continue
        taken |= concerned
        found.append(_finding(log, reading, scores))
    return tuple(found)


def _gain(log: LogUnderTest, scores: dict[int, float]) -> float:
    differences = [scores[c] - log.given[c] for c in scores]
    known = [d for d in differences if np.isfinite(d)]
    return float(np.mean(known)) if known and min(known) > -0.05 else -1.0


def _is_good(log: LogUnderTest, scores: dict[int, float]) -> bool:
    """Whether the scores are nearly those of a right log."""
    wanted = {c: 0.8 * (LOW_ROBOT if log.is_fixed(c) else LOW_TABLE) for c in scores}
    return all(scores[c] >= wanted[c] for c in scores if np.isfinite(scores[c]))


def _finding(log: LogUnderTest, reading: Reading, scores: dict[int, float]) -> Finding:
    names = [log.cameras[c].name for c in reading.concerned]
    before = np.nanmean([log.given[c] for c in scores])
    after = float(np.nanmean(list(scores.values())))
    told, remedy = _told(log, reading, names)
    message = f"{told}: the images agree with the robot's model by {before:.2f} as given and by {after:.2f} if undone."
    return Finding(reading.code, Severity.ERROR, message, remedy, stream=", ".join(names), value=after - float(before))


def _told(log: LogUnderTest, reading: Reading, names: list[str]) -> tuple[str, str]:
    if reading.code == "swapped-cameras":
        return (f"Cameras {names[0]!r} and {names[1]!r} are swapped",
                f"exchange the entries of {names[0]!r} and {names[1]!r} under [cameras] in twin.toml")  # fmt: skip
    if reading.code == "mirrored-images":
        return (f"Camera {names[0]!r} delivers mirrored images",
                "switch off the camera's horizontal flip and record again")  # fmt: skip
    if reading.code == "wrong-intrinsics":
        c, scale = next(iter(reading.focal.items()))
        model = log.cameras[c].model
        focal = 0.0 if model is None else model.fx / log.cameras[c].width * scale
        return (f"Camera {names[0]!r} has another lens than given: its focal length is about {scale:.2g} times that",
                f"calibrate it, or give a focal length of about {focal:.2f} image widths in twin.toml")  # fmt: skip
    joints = log.problem.rig.tree.joint_names
    moves = ", ".join(f"{joints[a]!r} is logged as {joints[b]!r}" for a, b in reading.order)
    return f"Joints are logged in another order ({moves})", "name the joints in the log's order under [joints]"


def _lost(log: LogUnderTest, c: int) -> Finding:
    return Finding(
        "robot-not-where-logged",
        Severity.ERROR,
        f"The camera sees change elsewhere than the robot's model moves (agreement {log.given[c]:.2f}, usually above "
        f"{LOW_ROBOT:.1f}), and no swap, mirror, joint order or focal length explains it.",
        "check the camera's pose, its clock and the joint units in twin.toml; keep people out of its view",
        stream=log.cameras[c].name,
        value=log.given[c],
    )


def _apart(log: LogUnderTest) -> Finding | None:
    """Views that share nothing of the table with any other."""
    poses = log.problem.rig.poses(np.zeros(len(log.problem.rig.unknowns)))
    views = range(len(log.problem.images))
    shape = log.problem.images[0].shape[:2]
    shared = overlaps(poses, views, shape, log.table_height_m)
    camera = log.problem.rig.views.camera
    is_repetition = (camera[:, None] == camera) & np.array([log.is_fixed(int(c)) for c in camera])
    largest = np.where(is_repetition, 0.0, shared).max(axis=1)
    share = float(np.median(largest))
    if share >= _LEAST_OVERLAP:
        return None
    return Finding(
        "views-without-overlap",
        Severity.ERROR,
        f"Half of the views share less than {share:.0%} of what they see of the table with any other view.",
        "record a scan whose views overlap by half: slower, from farther away, or with all cameras on one place",
        value=share,
    )
