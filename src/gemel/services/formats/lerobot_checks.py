"""What a LeRobot dataset says of itself against what its files hold, from headers alone."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float

from gemel.artifacts.finding import Finding, Severity
from gemel.errors import SourceError
from gemel.services.formats.lerobot_info import INFO_FILE, LerobotInfo, camera_name
from gemel.services.formats.lerobot_tables import EpisodeRow
from gemel.services.formats.paths import inside
from gemel.services.formats.source import OnFinding, RawVideo
from gemel.services.formats.video import VideoHeader, read_header


@dataclass(frozen=True)
class VideoHeaders:
    """Headers of a dataset's videos, each read once."""

    root: Path
    _known: dict[str, VideoHeader | SourceError] = field(default_factory=dict)

    def get(self, relative: str) -> VideoHeader:
        """The header of one video, or the error that reading it gave."""
        if relative not in self._known:
            try:
                self._known[relative] = read_header(inside(self.root, relative))
            except SourceError as error:
                self._known[relative] = error
        known = self._known[relative]
        if isinstance(known, SourceError):
            raise known
        return known


def error_finding(code: str, error: SourceError, *, episode: str = "", stream: str = "") -> Finding:
    """A finding that says what an error says."""
    return Finding(code, Severity.ERROR, error.problem, error.remedy, episode=episode, stream=stream)


def episode_span(rows: Sequence[EpisodeRow]) -> str:
    """`3`, or `3-7` for several episodes."""
    indices = sorted(row.index for row in rows)
    return str(indices[0]) if len(indices) == 1 else f"{indices[0]}-{indices[-1]}"


def check_info(info: LerobotInfo, rows: Sequence[EpisodeRow], on_finding: OnFinding) -> None:
    """Counters that lie, and features that are not taken in."""
    frames = sum(row.length for row in rows)
    for name, said, counted in (
        ("total_episodes", info.total_episodes, len(rows)),
        ("total_frames", info.total_frames, frames),
    ):
        if said != counted:
            on_finding(
                Finding(
                    "counter-lies", Severity.WARNING,
                    f"{INFO_FILE} says {name} {said}; the episode list has {counted}.",
                    "Gemel goes by the files; correct info.json for other readers", stream=INFO_FILE,
                )
            )  # fmt: skip
    for feature in info.unread():
        on_finding(
            Finding(
                "feature-not-read", Severity.NOTE,
                f"Feature {feature.key!r} ({feature.dtype}, shape {list(feature.shape)}) is not taken in.",
                "fine unless the twin needs it; colour video and vectors of numbers are read", stream=feature.key,
            )
        )  # fmt: skip


def check_videos(info: LerobotInfo, rows: Iterable[EpisodeRow], headers: VideoHeaders, on_finding: OnFinding) -> None:
    """Every video there, readable, of the size that info.json says, with a frame for each row."""
    users: dict[tuple[str, str], list[EpisodeRow]] = defaultdict(list)
    for row in rows:
        for key, place in row.video_from_key.items():
            try:
                path = info.video_file(key, place.chunk_index, place.file_index)
            except SourceError as error:
                on_finding(error_finding("bad-path", error, episode=str(row.index), stream=camera_name(key)))
            else:
                users[path, key].append(row)
    for (path, key), of_file in users.items():
        try:
            header = headers.get(path)
        except SourceError as error:
            episodes = episode_span(of_file)
            on_finding(error_finding("unreadable-video", error, episode=episodes, stream=camera_name(key)))
        else:
            _check_size(info, key, path, header, on_finding)
            _check_frame_count(key, path, of_file, header, on_finding)


def check_covered(
    header: VideoHeader, stream: RawVideo, times_s: Float[np.ndarray, " t"], episode: str, on_finding: OnFinding
) -> None:
    """The video goes on until the episode's last time stamp."""
    needed_s = stream.from_s + float(np.max(times_s, initial=0.0))
    if not header.last_s + 0.5 * header.period_s < needed_s:
        return
    on_finding(
        Finding(
            "video-too-short", Severity.ERROR,
            f"The last frame of {stream.path} is at {header.last_s:.2f} s; episode {episode} needs one at "
            f"{needed_s:.2f} s.",
            "the video was cut off, or the time stamps are wrong: copy both again from the recording machine",
            episode=episode, stream=stream.camera, time_s=max(0.0, header.last_s - stream.from_s),
        )
    )  # fmt: skip


def _check_size(info: LerobotInfo, key: str, path: str, header: VideoHeader, on_finding: OnFinding) -> None:
    height, width = info.image_size(key)
    if (header.width, header.height) != (width, height):
        on_finding(
            Finding(
                "video-size", Severity.ERROR,
                f"{path} is {header.width}x{header.height}; {INFO_FILE} says {width}x{height}.",
                "correct the feature's shape, or restore the video: intrinsics depend on the size",
                stream=camera_name(key),
            )
        )  # fmt: skip


def _check_frame_count(
    key: str, path: str, rows: Sequence[EpisodeRow], header: VideoHeader, on_finding: OnFinding
) -> None:
    needed = sum(row.length for row in rows)
    if header.frame_count < needed:
        on_finding(
            Finding(
                "video-frames-missing", Severity.WARNING,
                f"{path} holds {header.frame_count} frames for {needed} rows of episodes {episode_span(rows)}.",
                "rows without a frame of their own get the one before; re-record, or drop the episodes",
                episode=episode_span(rows), stream=camera_name(key), value=float(needed - header.frame_count),
            )
        )  # fmt: skip
