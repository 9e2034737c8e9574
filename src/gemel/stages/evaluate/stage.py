"""Evaluate: the holdout is opened, and the twin is held against it once.

Owns: open-loop replay of held-out episodes, errors over time, intervals, how long the twin follows, the claims.
Does not own: opening and counting (store/seal.py, evaluate_wiring.py), tracking (track), policies in the loop.
Inputs: `HeldOutData` read through `Frames` of this stage alone, tracks of its objects, the `Twin` with the posterior,
the prior and a nominal belief (the `geometry` prior) for comparison. Output: `Evidence`.
Judged by: laws in tests/stages/evaluate (a twin's own episode has no error; wrong friction is lost sooner).

Each episode is replayed from its tracked start under the mean of the posterior, of the prior and of the nominal belief,
and under draws of the first two; once led along the logged joints, which leaves only object physics to err, and once
by the recorded actions, where these can be turned into joint targets.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gemel.artifacts.belief import Belief
from gemel.artifacts.blob import Blobs
from gemel.artifacts.capture import Domain
from gemel.artifacts.episode import Episode, Frames
from gemel.artifacts.evidence import Claim, Curve, Evidence
from gemel.artifacts.finding import Finding
from gemel.artifacts.held_out import HeldOutData, Opening
from gemel.artifacts.track import Tracks
from gemel.artifacts.twin import Twin
from gemel.errors import SourceError
from gemel.services.sim.commanded import ActionReader
from gemel.services.sim.joint_path import JointPath
from gemel.stages.evaluate.claims import (
    NOMINAL,
    POSTERIOR,
    PRIOR,
    gap_claims,
    mean_claims,
    ranges_of,
    repeat_claims,
)
from gemel.stages.evaluate.compare import Compared, Yardstick, compare
from gemel.stages.evaluate.config import EvaluateConfig
from gemel.stages.evaluate.floor import is_repeat, repeat_curves
from gemel.stages.evaluate.follow_ratio import followings, ratio_claims
from gemel.stages.evaluate.instruments import Instruments
from gemel.stages.evaluate.joint_error import JointMeasure
from gemel.stages.evaluate.remarks import findings_of, notes_on
from gemel.stages.evaluate.replay import ACTIONS, LOGGED, TwinReplay

OnProgress = Callable[[float], None]


@dataclass(frozen=True)
class EvaluateInfo:
    """What the stage noticed."""

    findings: tuple[Finding, ...]


def evaluate(
    held_out: HeldOutData,
    twin: Twin,
    config: EvaluateConfig,
    *,
    instruments: Instruments,
    prior: Belief,
    nominal: Belief,
    tracks: Tracks,
    frames: Frames,
    blobs: Blobs,
    rng: np.random.Generator,
    opening: Opening,
    lineage: Mapping[str, str],
    repeats: Sequence[tuple[str, str]] = (),
    on_progress: OnProgress = lambda fraction: None,
) -> tuple[Evidence, EvaluateInfo]:
    """Claims about the twin; `repeats` are pairs of episodes with the same start, for the real-vs-real floor."""
    yardstick = Yardstick(
        physics=_physics(twin, prior, nominal, config.draws, blobs, rng),
        rest=twin.initial_poses,
        measures=instruments.measures,
        tools=instruments.tools,
        config=config,
    )
    check_any(held_out)
    results: list[Compared] = []
    for index, record in enumerate(held_out.episodes):
        episode = frames.episode(record.id)
        own = [track for track in tracks.tracks if track.episode == record.id and track.object in twin.colliders]
        results.append(compare(yardstick, episode, own, _paths(episode, instruments.reader), rng))
        on_progress((index + 1) / len(held_out.episodes))
    floor = _floor(repeats, tracks, frames, instruments.measures, config)
    beliefs = {POSTERIOR: twin.belief, PRIOR: prior, NOMINAL: nominal}
    claims = _claims(results, floor, held_out, config.confidence, rng)
    findings = findings_of(results, opening, claims)
    evidence = Evidence(
        claims=claims,
        failures=(),
        holdout=opening.split,
        opening=opening.of_twin,
        lineage=dict(lineage),
        episodes=tuple(record.id for record in held_out.episodes),
        openings_of_holdout=opening.of_holdout,
        within_m=config.position_m,
        within_deg=config.rotation_deg,
        curves=(*(curve for result in results for curve in result.curves), *floor),
        ranges=tuple(r for name, belief in beliefs.items() for r in ranges_of(belief, name, twin.belief.names)),
        weights=_by_joint(instruments.measures, held_out, "weights"),
        scales=_by_joint(instruments.measures, held_out, "scales"),
        notes=notes_on(results, tracks, instruments, twin.belief, floor, len(repeats)),
        followings=followings(results),
        cautions=tuple(finding.message for finding in findings),
    )
    return evidence, EvaluateInfo(findings)


def check_any(held_out: HeldOutData) -> None:
    """Refuse an empty holdout."""
    if not held_out.episodes:
        raise SourceError(
            "No episode is held out, so nothing can be claimed about unseen data.",
            remedy="hold some out under [split] in twin.toml, or record more trials from different starts",
        )


def _claims(
    results: Sequence[Compared],
    floor: Sequence[Curve],
    held_out: HeldOutData,
    confidence: float,
    rng: np.random.Generator,
) -> tuple[Claim, ...]:
    """Ratios first: they are what an evaluation is for."""
    real = tuple(dict.fromkeys(record.domain for record in held_out.episodes))
    both = (*real, Domain.TWIN)
    return (
        *ratio_claims(results, both, confidence, rng),
        *mean_claims(results, both, confidence, rng),
        *repeat_claims(floor, real, confidence, rng),
        *gap_claims(results, (Domain.TWIN,), confidence),
    )


def _physics(
    twin: Twin, prior: Belief, nominal: Belief, draws: int, blobs: Blobs, rng: np.random.Generator
) -> dict[str, TwinReplay]:
    """The same scene under three beliefs; of the nominal one only the mean counts."""
    counts = {POSTERIOR: (twin.belief, draws), PRIOR: (prior, draws), NOMINAL: (nominal, 0)}
    return {
        name: TwinReplay(twin, belief.only(twin.belief.names), blobs, draws=count, rng=rng)
        for name, (belief, count) in counts.items()
    }


def _paths(episode: Episode, reader: ActionReader) -> dict[str, JointPath]:
    """What leads the robot, by drive."""
    paths, commanded = {LOGGED: JointPath(episode.times_s, episode.joint_positions)}, reader.path(episode)
    return paths if commanded is None else paths | {ACTIONS: commanded}


def _floor(
    repeats: Sequence[tuple[str, str]],
    tracks: Tracks,
    frames: Frames,
    measures: Sequence[JointMeasure],
    config: EvaluateConfig,
) -> list[Curve]:
    """Differences between real episodes that repeat each other."""
    curves: list[Curve] = []
    for first, second in repeats:
        one, two = frames.episode(first), frames.episode(second)
        if not is_repeat(one, two, config.repeat_tolerance):
            continue
        mine = {track.object: track for track in tracks.tracks if track.episode == first}
        pairs = [(mine[t.object], t) for t in tracks.tracks if t.episode == second and t.object in mine]
        curves += repeat_curves(one, two, pairs, measures)
    return curves


def _by_joint(measures: Sequence[JointMeasure], held_out: HeldOutData, what: str) -> dict[str, float]:
    return {
        held_out.joints[column].name: float(value)
        for measure in measures
        for column, value in zip(measure.arm.columns, getattr(measure, what), strict=True)
    }
