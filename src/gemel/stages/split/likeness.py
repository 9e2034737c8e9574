"""Which episodes are the same evidence: copies, shared stretches, and trials that start from the same state.

- exact copy: the raw numbers are equal, under whatever name;
- same video: the same stretch of the same video file;
- shared rows: more than half of the shorter episode's distinct (joints, action) rows also occur in the other
  (a trimmed or re-cut copy);
- same initial state: joints within tolerance and, seen by every camera, the same first frame.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8, UInt64

from gemel.artifacts.capture import Capture, EpisodeKind, EpisodeRecord, VideoSegment
from gemel.artifacts.episode import Episode, Frames
from gemel.artifacts.split import Likeness
from gemel.stages.split.config import SplitConfig

_CELLS = 32
_MIN_SHARED_ROWS = 10
_MAX_SHARED_PART = 0.5
SAME_START = "same initial state"


@dataclass(frozen=True, eq=False)
class Start:
    """How an episode begins."""

    episode: str
    state: Float[np.ndarray, " value"]
    """Joints, and the environment's state where it was logged."""
    view: Float[np.ndarray, " cell"]
    """First frames of all cameras, averaged over cells."""


def copies(capture: Capture) -> Iterator[Likeness]:
    """Exact copies and shared video, from the records alone."""
    by_numbers: dict[str, str] = {}
    by_video: dict[tuple[str, str, float], str] = {}
    for record in capture.episodes:
        first = by_numbers.setdefault(record.fingerprint, record.id)
        if first != record.id:
            yield Likeness(first, record.id, "exact copy", f"fingerprint {record.fingerprint[:8]}")
        for stream in record.streams:
            if isinstance(stream, VideoSegment):
                place = (stream.camera, stream.file.sha256, round(stream.from_s, 4))
                first = by_video.setdefault(place, record.id)
                if first != record.id:
                    yield Likeness(first, record.id, "same video", f"{stream.file.path} from {stream.from_s:.2f} s")


def shared_rows(row_hashes: dict[str, UInt64[np.ndarray, " row"]]) -> Iterator[Likeness]:
    """Episodes that share most of their distinct rows."""
    holders: dict[int, list[str]] = defaultdict(list)
    for episode, hashes in row_hashes.items():
        for value in hashes.tolist():
            holders[value].append(episode)
    shared: dict[tuple[str, str], int] = defaultdict(int)
    for episodes in holders.values():
        for other in episodes[1:]:
            shared[episodes[0], other] += 1
    for (first, second), count in shared.items():
        shorter = min(len(row_hashes[first]), len(row_hashes[second]))
        if count >= _MIN_SHARED_ROWS and count > _MAX_SHARED_PART * shorter:
            yield Likeness(first, second, "shared rows", f"{count} of {shorter} distinct rows")


def row_hashes(episode: Episode) -> UInt64[np.ndarray, " row"]:
    """One 64-bit number per distinct (joints, action) row; equal rows give equal numbers."""
    rows = np.concatenate([episode.joint_positions, episode.actions], axis=1).astype("<f8")
    if not rows.shape[1]:
        return np.zeros(0, dtype=np.uint64)
    words = np.ascontiguousarray(rows).view(np.uint64)
    weights = np.random.default_rng(0).integers(1, 2**63, size=words.shape[1], dtype=np.uint64) | np.uint64(1)
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is the hash
        mixed = (words ^ (words >> np.uint64(29))) * weights
        return np.unique(mixed.sum(axis=1, dtype=np.uint64))


def start_of(record: EpisodeRecord, frames: Frames, episode: Episode) -> Start:
    """The initial state and the first frames of one episode."""
    environment = [v[0] for name, v in sorted(episode.extras.items()) if "environment_state" in name]
    views = [cell_averages(frames.image(record.id, stream.camera, 0)) for stream in record.streams]
    return Start(
        record.id,
        np.concatenate([episode.joint_positions[0], *environment]),
        np.concatenate(views) if views else np.zeros(0),
    )


def cell_averages(image: UInt8[np.ndarray, "h w 3"]) -> Float[np.ndarray, " cell"]:
    """Grey levels averaged over about 32 cells across, so that sensor noise does not make frames differ."""
    grey = image.astype(np.float64).mean(axis=2)
    size = max(1, grey.shape[1] // _CELLS)
    height, width = grey.shape[0] // size * size, grey.shape[1] // size * size
    return grey[:height, :width].reshape(height // size, size, width // size, size).mean(axis=(1, 3)).ravel()


def same_starts(starts: list[Start], config: SplitConfig, *, factor: float = 1.0) -> Iterator[Likeness]:
    """Trials that begin alike. Joints alone prove nothing (robots go home), so a view or scene state is needed."""
    joint_limit, view_limit = factor * config.joint_tolerance, factor * config.image_tolerance
    for i, first in enumerate(starts):
        for second in starts[i + 1 :]:
            if first.state.shape != second.state.shape or first.view.shape != second.view.shape:
                continue
            apart = float(np.abs(first.state - second.state).max(initial=0.0))
            if apart > joint_limit:
                continue
            seen_apart = view_difference(first.view, second.view)
            if seen_apart <= view_limit:
                detail = f"joints within {apart:.2g}, first frames within {seen_apart:.1f} grey levels"
                yield Likeness(first.episode, second.episode, SAME_START, detail)


def view_difference(first: Float[np.ndarray, " cell"], second: Float[np.ndarray, " cell"]) -> float:
    """Largest difference of two views in any cell, after taking off a common change of exposure."""
    difference = first - second
    return float(np.abs(difference - np.median(difference)).max(initial=0.0))


def can_tell_starts(capture: Capture) -> bool:
    """Whether the log shows the scene at all: by a camera or by a logged scene state."""
    trials = [record for record in capture.episodes if record.kind is EpisodeKind.TASK]
    has_scene = any("environment_state" in name for name in capture.extras)
    return has_scene or any(record.streams for record in trials)
