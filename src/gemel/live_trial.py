"""A project's live twin on one of the log's trials: opened, followed, drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gemel.artifacts.capture import Capture, EpisodeKind, EpisodeRecord
from gemel.artifacts.split import FitData, Role, Split
from gemel.artifacts.track import Tracks
from gemel.errors import ConfigError
from gemel.in_force import twin_in_force
from gemel.outputs.pictures.sheet import Picture
from gemel.project import open_project
from gemel.running import Run
from gemel.runtime.follow_log import Followed, follow_log
from gemel.runtime.live_twin import LiveTwin
from gemel.services.formats.robot_model import compile_stored_robot
from gemel.store.store import Store
from gemel.twin_pictures import episode_pictures


@dataclass(frozen=True, eq=False)
class LiveTrial:
    """What a live twin made of a trial."""

    followed: Followed
    tracks: Tracks
    """What the stage `track` made of all trials, with all their frames at hand."""
    pictures: dict[str, Picture]
    """Real frames beside what the twin shows, by file name."""
    note: str = ""
    """Why the twin may not be the one that is wanted; empty where all is well."""


def follow_trial(
    folder: Path, episode: str = "", *, on_progress: Callable[[float], None] = lambda part: None
) -> LiveTrial:
    """Follow a trial with the project's twin; the first one of validation unless named."""
    project = open_project(folder)
    store = Store.open(project.store_folder)
    try:
        current = twin_in_force(project, store)
        run, twin = Run(project, store, dict(current.addresses)), current.twin
        capture, split = run.get("ingest", Capture), run.get("split", Split)
        record, fit = _trial(capture, split, episode), FitData.of(capture, split)
        frames = run.frames(capture, "live", current.address)
        robot = None if twin.robot is None else compile_stored_robot(twin.robot, store)
        rng = np.random.default_rng(project.settings.seed)
        live = LiveTwin(twin, fit.joints, robot=robot, blobs=store, rng=rng)
        followed = follow_log(live, record.id, frames, on_progress)
        told = Tracks(tuple(followed.track(name) for name in followed.objects), "video")
        pictures, _ = episode_pictures([record], twin, fit, told, frames, store)
        return LiveTrial(followed, run.get("track", Tracks), pictures, current.note)
    finally:
        store.close()


def _trial(capture: Capture, split: Split, asked: str) -> EpisodeRecord:
    """The trial that was asked for, as long as nobody needs it unseen."""
    roles = {record.id: split.role_from_episode[record.id] for record in capture.episodes if _is_trial(record)}
    choose = f"follow one of {_listed([key for key, role in roles.items() if role is not Role.HOLDOUT])}"
    if roles.get(asked) is Role.HOLDOUT:
        raise ConfigError(
            f"Trial {asked!r} is held out: only `gemel evaluate` may see it.",
            remedy=choose,
        )
    free = [key for wanted in (Role.VALIDATION, Role.CALIBRATION) for key, role in roles.items() if role is wanted]
    if not free:
        raise ConfigError("The log has no trial that may be looked at.", remedy="record trials of the task")
    if asked and asked not in free:
        is_scan = any(record.id == asked for record in capture.episodes)
        what = f"Episode {asked!r} is a scan, no trial." if is_scan else f"There is no trial {asked!r}."
        raise ConfigError(what, remedy=choose)
    return capture.episode(asked or free[0])


def _listed(trials: list[str]) -> str:
    """In the order of their numbers: the shorter number is the smaller one."""
    return ", ".join(sorted(trials, key=lambda name: (len(name), name)))


def _is_trial(record: EpisodeRecord) -> bool:
    return record.kind is EpisodeKind.TASK
