"""Identify: what tracks and joint logs say about the twin's physical parameters.

Owns: pieces of tracks, how predictions are compared with them, methods of inference, residual ranges.
Does not own: how scenes are simulated (services/sim), where tracks come from (track), the prior (prior).
Inputs: a `Twin` with the prior as its belief, tracks and joint logs of calibration and validation episodes; their
frames where the last refinement is asked for.
Output: the posterior `Belief`; info with diagnoses in words, ranges and findings.
Judged by: coverage and width of intervals in worlds with known truth (`gemel bench identify`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemel.artifacts.belief import Belief, ValueSource
from gemel.artifacts.blob import Blobs
from gemel.artifacts.episode import Episode
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.track import Track
from gemel.artifacts.twin import Twin
from gemel.errors import ConfigError, choices_text
from gemel.services.sim.joint_path import JointPath
from gemel.stages.identify.config import IdentifyConfig
from gemel.stages.identify.footage import Footage, seen_frames
from gemel.stages.identify.identify import IdentifyInfo, identify_problem
from gemel.stages.identify.problem import OnProgress
from gemel.stages.identify.ranges import RangeCheck, residual_ranges
from gemel.stages.identify.segments import Segment, find_segments
from gemel.stages.identify.track_frame import TRACK_PARAMETERS, with_track_frame
from gemel.stages.identify.tracked_problem import TrackedProblem
from gemel.stages.identify.twin_scene import twin_scene


@dataclass(frozen=True, eq=False)
class StageInfo:
    """What the identify stage noticed."""

    findings: tuple[Finding, ...]
    inference: IdentifyInfo | None
    """None where nothing could be inferred."""
    check: RangeCheck | None


def identify(
    twin: Twin,
    tracks: Sequence[Track],
    episodes: Mapping[str, Episode],
    config: IdentifyConfig,
    *,
    blobs: Blobs,
    rng: np.random.Generator,
    validation: frozenset[str] = frozenset(),
    threads: int = 0,
    footage: Footage | None = None,
    on_progress: OnProgress | None = None,
) -> tuple[Belief, StageInfo]:
    """The posterior over the parameters of `twin.belief`; tracks of `validation` episodes only check it.

    With `is_pixel_refined`, `footage` shows the frames of calibration episodes.
    """
    fitted = [t for t in tracks if t.episode not in validation]
    problem = twin_problem(twin, fitted, episodes, config, blobs=blobs, threads=threads)
    if problem is None:
        return twin.belief, StageInfo((_nothing_moves(),), None, None)
    prior = with_track_frame(twin.belief, config.frame_doubt)
    names = tuple(dict.fromkeys(segment.episode for segment in problem.segments))
    posterior, info = identify_problem(problem, prior, config, rng=rng, episodes=names, on_progress=on_progress)
    pixels: tuple[Finding, ...] = ()
    if config.is_pixel_refined and footage is not None and info.method != "none":
        posterior, pixels = _refined(twin, problem, prior, posterior, config, footage, rng)
    kept = [t for t in tracks if t.episode in validation]
    judge = twin_problem(twin, kept, episodes, config, blobs=blobs, threads=threads)
    posterior, check = residual_ranges(posterior, judge, info.levels, prior=prior, level=config.credible_level, rng=rng)
    known = twin.belief.names
    check = replace(check, ranges=tuple(r for r in check.ranges if r.name in known))
    return posterior.only(known), StageInfo(_findings(info, check) + pixels, info, check)


def _refined(
    twin: Twin,
    problem: TrackedProblem,
    prior: Belief,
    posterior: Belief,
    config: IdentifyConfig,
    footage: Footage,
    rng: np.random.Generator,
) -> tuple[Belief, tuple[Finding, ...]]:
    """The posterior after a look at the frames, and what that changed."""
    from gemel.stages.identify.pixels import refine_by_pixels

    frames = seen_frames(problem.segments, footage, per_segment=config.pixel_frames)
    mesh = twin.reconstruction.objects[problem.scene.object]
    refined, found = refine_by_pixels(problem, prior, posterior, frames, mesh, rng, worth=config.pixel_worth)
    remedy = "leave out is_pixel_refined under [identify] for what tracks alone say"
    return refined, (Finding("pixels", Severity.NOTE, found.words, remedy, stream=problem.scene.object),)


def twin_problem(
    twin: Twin,
    tracks: Sequence[Track],
    episodes: Mapping[str, Episode],
    config: IdentifyConfig,
    *,
    blobs: Blobs,
    threads: int = 0,
) -> TrackedProblem | None:
    """The tracked motion of the twin's object as a problem, or None where nothing moves."""
    objects = sorted({track.object for track in tracks})
    if len(objects) > 1:
        raise ConfigError(
            f"Tracks of {objects} were given; identify fits one moving object at a time.",
            remedy="give the tracks of one object, then those of the next with the posterior as its prior",
        )
    segments: list[Segment] = []
    for track in tracks:
        if track.episode not in episodes:
            raise ConfigError(
                f"The track's episode {choices_text(track.episode, tuple(episodes))}",
                remedy="give the joint log of every tracked episode",
            )
        segments += find_segments(track, longest_s=config.longest_s, model_error=config.model_error)
    if not segments:
        return None
    scene = twin_scene(twin, objects[0], blobs, threads=threads)
    simulator = scene.make(1)
    known = (*simulator.parameter_names, *TRACK_PARAMETERS)
    for name in twin.belief.names:
        if name not in TRACK_PARAMETERS and not simulator.has_parameter(name):
            raise ConfigError(
                f"The prior is about a parameter that the scene does not have: {choices_text(name, known)}",
                remedy="correct the name, or leave it out of the prior",
            )
    paths = {key: JointPath(e.times_s, e.joint_positions) for key, e in episodes.items()}
    believed = with_track_frame(twin.belief, config.frame_doubt)
    parameters = tuple(replace(p, source=ValueSource(p.source)) for p in believed.parameters)
    return TrackedProblem(parameters, tuple(segments), paths, scene, push_worth=config.push_worth)


def _nothing_moves() -> Finding:
    return Finding(
        code="nothing-moves",
        severity=Severity.WARNING,
        message="No tracked object moves in the calibration episodes: the prior is returned as it is.",
        remedy="record episodes in which the robot touches the object; `gemel suggest` proposes pushes",
    )


def _findings(info: IdentifyInfo, check: RangeCheck) -> tuple[Finding, ...]:
    found = [
        Finding("identifiability", Severity.NOTE, words, "record what `gemel suggest` proposes to learn more")
        for words in info.notes
    ]
    found += [
        Finding("range-miss", Severity.WARNING, words, "look at the residuals of the validation episodes")
        for words in check.misses
    ]
    if info.diverged > 0.2 * info.rollouts:
        found.append(Finding(
            "diverged", Severity.WARNING, f"{info.diverged} of {info.rollouts} simulations diverged.",
            "narrow the prior to values that the simulator can take",
        ))  # fmt: skip
    return tuple(found)
