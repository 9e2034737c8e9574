"""What the joints' values say: an arm that never moves, units to confirm, limits passed, names that do not match."""

import math
from dataclasses import dataclass

import numpy as np

from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.inspection import UnitGuess
from gemel.artifacts.robot import RobotJoint
from gemel.services.formats.calibration import JointScale
from gemel.services.formats.robot_model import match_joints
from gemel.services.formats.source import RawEpisode, SourceLayout
from gemel.stages.ingest.units import JointRange

_LIMIT_SLACK = 0.02
"""Encoders and stops allow for this much beyond a limit [rad or m]."""


@dataclass(frozen=True)
class Extremes:
    """Where each joint's smallest and largest values were logged."""

    low: tuple[tuple[float, str, float], ...]
    """(value, episode, time [s]) per joint."""
    high: tuple[tuple[float, str, float], ...]

    @staticmethod
    def none(joint_count: int) -> "Extremes":
        """Before any episode."""
        return Extremes(((math.inf, "", 0.0),) * joint_count, ((-math.inf, "", 0.0),) * joint_count)

    def with_episode(self, raw: RawEpisode) -> "Extremes":
        """Widened by one episode."""
        if not len(raw.state):
            return self
        low, high = list(self.low), list(self.high)
        for joint in range(raw.state.shape[1]):
            values = raw.state[:, joint]
            if not np.isfinite(values).any():
                continue
            first, last = int(np.nanargmin(values)), int(np.nanargmax(values))
            low[joint] = min(low[joint], (float(values[first]), raw.id, float(raw.times_s[first])))
            high[joint] = max(high[joint], (float(values[last]), raw.id, float(raw.times_s[last])))
        return Extremes(tuple(low), tuple(high))


def check_joints(
    layout: SourceLayout,
    ranges: JointRange,
    extremes: Extremes,
    units: tuple[UnitGuess, ...],
    robot_joints: tuple[RobotJoint, ...] | None,
) -> list[Finding]:
    """All findings about joints."""
    if not layout.joint_names or not np.isfinite(ranges.low).any():
        return []
    findings = _motion_findings(layout, ranges) + _unit_findings(units)
    if robot_joints is None:
        return [
            *findings,
            Finding("no-robot-model", Severity.NOTE, "No robot model was given: limits were not checked.",
                    "pass --robot MODEL (MJCF or URDF)"),
        ]  # fmt: skip
    return findings + _model_findings(layout, extremes, units, robot_joints)


def _motion_findings(layout: SourceLayout, ranges: JointRange) -> list[Finding]:
    still = [name for name, motion in zip(layout.joint_names, ranges.motion, strict=True) if motion == 0]
    if len(still) == len(layout.joint_names):
        return [
            Finding("arm-never-moves", Severity.WARNING,
                    "The arm never moves: every joint keeps one value through all episodes.",
                    "check that the recorder reads the arm; physics cannot be identified from this log",
                    stream="joints", value=0.0)
        ]  # fmt: skip
    return [
        Finding("joint-never-moves", Severity.NOTE, f"Joint {name!r} never moves.",
                "fine if the task does not need it; else check the recorder", stream=name, value=0.0)
        for name in still
    ]  # fmt: skip


def _unit_findings(units: tuple[UnitGuess, ...]) -> list[Finding]:
    open_units = [unit for unit in units if not unit.is_declared]
    if not open_units:
        return []
    disagree = any("disagree" in reason for unit in open_units for reason in unit.evidence)
    return [
        Finding(
            "units-unconfirmed", Severity.WARNING,
            f"The log does not state the units of {len(open_units)} joints"
            + (", and the evidence disagrees" if disagree else "") + ": they need confirming.",
            "see the evidence beside each joint; `gemel new` writes it to twin.toml, or takes --units",
            stream=", ".join(unit.joint for unit in open_units),
        )
    ]  # fmt: skip


def _model_findings(
    layout: SourceLayout,
    extremes: Extremes,
    units: tuple[UnitGuess, ...],
    robot_joints: tuple[RobotJoint, ...],
) -> list[Finding]:
    by_name = {joint.name: joint for joint in robot_joints}
    matched = match_joints(layout.joint_names, tuple(by_name))
    missing = [name for name in layout.joint_names if name not in matched]
    findings = []
    if missing:
        findings.append(
            Finding(
                "joints-not-in-model", Severity.WARNING,
                f"The robot model has no joint named {missing}; it has {sorted(by_name)}.",
                'name each in twin.toml: [joints."NAME"] model_joint = "…", or give the right model',
                stream=", ".join(missing),
            )
        )  # fmt: skip
    for i, name in enumerate(layout.joint_names):
        if name in matched:
            scale = layout.declared_scales.get(name) or _plain_scale(units[i].unit)
            findings += _limit_findings(name, scale, by_name[matched[name]], extremes.low[i], extremes.high[i])
    return findings


def _plain_scale(unit: str) -> JointScale | None:
    return JointScale(unit) if unit not in ("span", "percent") else None


def _limit_findings(
    name: str,
    scale: JointScale | None,
    joint: RobotJoint,
    low: tuple[float, str, float],
    high: tuple[float, str, float],
) -> list[Finding]:
    if scale is None or scale.si_unit == "fraction":
        return []
    findings = []
    for value, episode, time_s in (low, high):
        si = float(scale.to_si(np.array([value]))[0])
        if joint.low - _LIMIT_SLACK <= si <= joint.high + _LIMIT_SLACK:
            continue
        findings.append(
            Finding(
                "outside-limits", Severity.WARNING,
                f"Joint {name!r} reaches {si:.4g} {scale.si_unit} (as {scale.unit}), outside the model's "
                f"[{joint.low:.4g}, {joint.high:.4g}].",
                "check the unit and the zero position of the joint, or the model's limits",
                episode=episode, stream=name, time_s=time_s, value=si,
            )
        )  # fmt: skip
    return findings
