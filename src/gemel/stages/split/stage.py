"""Split: every episode gets its role before anything is fitted.

Owns: roles, and which episodes count as the same evidence.
Does not own: enforcing the roles (store/seal.py), opening the holdout (evaluate).
Inputs: a `Capture`, read through `Frames` (numbers, and the first frame of each trial).
Output: a `Split`. Scans are always calibration; alike episodes always share a role.
Judged by: no copy, no shared stretch and no shared initial state across roles; the same seed gives the same split.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gemel.artifacts.capture import Capture, EpisodeKind
from gemel.artifacts.episode import Frames
from gemel.artifacts.finding import Finding, Severity
from gemel.artifacts.split import Likeness, Role, Split
from gemel.errors import ConfigError, LeakageError, choices_text
from gemel.stages.split.assign import draw_roles
from gemel.stages.split.config import SplitConfig
from gemel.stages.split.groups import Groups, camera_path, same_object, same_path
from gemel.stages.split.likeness import (
    SAME_START,
    Start,
    can_tell_starts,
    copies,
    row_hashes,
    same_starts,
    shared_rows,
    start_of,
)

OnProgress = Callable[[float], None]


@dataclass(frozen=True)
class SplitInfo:
    """What the split stage noticed."""

    findings: tuple[Finding, ...]


def split(
    capture: Capture,
    config: SplitConfig,
    *,
    frames: Frames,
    seed: int,
    on_progress: OnProgress = lambda fraction: None,
) -> tuple[Split, SplitInfo]:
    """Give every episode of the capture a role."""
    trials = [record for record in capture.episodes if record.kind is EpisodeKind.TASK]
    links, accepted = _links(capture, config, frames, on_progress)
    groups = Groups(record.id for record in capture.episodes)
    explaining = groups.merge_all(links)
    if config.by == "object":
        explaining += groups.merge_all(same_object(trials))
    group_from_episode = groups.numbered()
    if config.holdout_episodes:
        roles = _given_roles(capture, config)
    else:
        roles = _drawn_roles(capture, config, group_from_episode, np.random.default_rng(seed))
    result = Split(
        by=config.by,
        seed=seed,
        role_from_episode=roles,
        group_from_episode=group_from_episode,
        fingerprint_from_episode={record.id: record.fingerprint for record in capture.episodes},
        likenesses=tuple(explaining),
        accepted_likenesses=tuple(accepted),
    )
    _refuse_straddling(result)
    return result, SplitInfo(_findings(result, capture))


def _links(
    capture: Capture, config: SplitConfig, frames: Frames, on_progress: OnProgress
) -> tuple[list[Likeness], list[Likeness]]:
    """Pairs that must share a role, and pairs that the user declared independent."""
    links = list(copies(capture))
    starts: list[Start] = []
    hashes: dict[str, np.ndarray] = {}
    paths: dict[str, np.ndarray] = {}
    tell_starts = can_tell_starts(capture)
    for i, record in enumerate(capture.episodes):
        episode = frames.episode(record.id)
        hashes[record.id] = row_hashes(episode)
        if record.kind is EpisodeKind.TASK and tell_starts:
            starts.append(start_of(record, frames, episode))
        if record.kind is EpisodeKind.TASK and config.by == "camera-path":
            paths[record.id] = camera_path(episode)
        on_progress((i + 1) / len(capture.episodes))
    links += shared_rows(hashes)
    factor = config.nearness if config.by == "initial-condition" else 1.0
    alike = list(same_starts(starts, config, factor=factor))
    links += same_path(paths, config.path_tolerance)
    if config.same_start == "separate" and config.by != "initial-condition":
        return links, alike
    return links + alike, []


def _drawn_roles(
    capture: Capture, config: SplitConfig, group_from_episode: dict[str, int], rng: np.random.Generator
) -> dict[str, Role]:
    scans = {record.id for record in capture.episodes if record.kind is EpisodeKind.SCAN}
    tied = {group_from_episode[scan] for scan in scans}
    free = {e: g for e, g in group_from_episode.items() if g not in tied}
    parts = {
        Role.CALIBRATION: 1.0 - config.validation - config.holdout,
        Role.HOLDOUT: config.holdout,
        Role.VALIDATION: config.validation,
    }
    drawn = draw_roles(free, {r.id: r.task for r in capture.episodes}, parts, rng)
    return {record.id: drawn.get(record.id, Role.CALIBRATION) for record in capture.episodes}


def _given_roles(capture: Capture, config: SplitConfig) -> dict[str, Role]:
    ids = tuple(record.id for record in capture.episodes)
    roles = dict.fromkeys(ids, Role.CALIBRATION)
    for role, named in (
        (Role.VALIDATION, config.validation_episodes),
        (Role.HOLDOUT, config.holdout_episodes),
    ):
        for episode in named:
            if episode not in roles:
                raise ConfigError(
                    f"[split] {role}_episodes: {choices_text(episode, ids)}",
                    remedy="use the capture's episode ids",
                )
            if capture.episode(episode).kind is EpisodeKind.SCAN:
                raise ConfigError(
                    f"[split] names scan episode {episode!r} as {role}.",
                    remedy="scans are always calibration",
                )
            roles[episode] = role
    return roles


def _refuse_straddling(split: Split) -> None:
    """Given roles must not tear a group apart; drawn ones never do."""
    for alike in split.likenesses:
        first, second = split.role_from_episode[alike.first], split.role_from_episode[alike.second]
        if first is not second and Role.HOLDOUT in (first, second):
            raise LeakageError(
                f"Episode {alike.first!r} ({first}) and episode {alike.second!r} ({second}) are the same evidence: "
                f"{alike.reason} ({alike.detail}).",
                remedy="give both the same role in twin.toml [split], or remove the copy from the log"
                + (', or declare such starts independent with same_start = "separate"'
                   if alike.reason == SAME_START else ""),
            )  # fmt: skip


def _findings(split: Split, capture: Capture) -> tuple[Finding, ...]:
    findings = [
        Finding("alike-episodes", Severity.WARNING,
                f"Episodes {a.first} and {a.second} count as one: {a.reason} ({a.detail}).",
                "record from another initial state for independent evidence", episode=a.second)
        for a in split.likenesses
    ]  # fmt: skip
    if not can_tell_starts(capture):
        findings.append(
            Finding("starts-unknown", Severity.NOTE,
                    "No camera and no scene state was logged: initial states were not compared, only copies.",
                    "log observation.environment_state or a camera")
        )  # fmt: skip
    if not split.episodes(Role.HOLDOUT):
        findings.append(
            Finding("no-holdout", Severity.WARNING,
                    "No episode could be held out: all that there are count as the same evidence, so nothing "
                    "can be claimed about unseen data.",
                    "record trials from different initial states, or declare them independent in twin.toml "
                    "[split] with same_start = \"separate\"")
        )  # fmt: skip
    return tuple(findings)
