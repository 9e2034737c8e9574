"""The reader behind `Frames`: asks the seal first, then reads numbers from the store and frames by seeking."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float32, UInt8

from gemel.artifacts.blob import Blobs, FileRef, Table
from gemel.artifacts.capture import Capture, EpisodeRecord, ImageStream, VideoSegment
from gemel.artifacts.episode import Episode
from gemel.errors import SourceError, choices_text
from gemel.geometry import SE3
from gemel.services.formats.depth_video import decoded_depth
from gemel.services.formats.image_file import read_depth, read_image
from gemel.services.formats.paths import inside
from gemel.services.formats.video import VideoReader

_OPEN_VIDEOS = 4


class CaptureFrames:
    """Episodes of one capture for one stage. `grant` is called, and may raise, before anything is read."""

    def __init__(
        self,
        capture: Capture,
        *,
        source_root: Path,
        blobs: Blobs,
        grant: Callable[[EpisodeRecord, str], None],
        hash_of: Callable[[Path], str],
    ) -> None:
        self._record_from_id = {record.id: record for record in capture.episodes}
        self._root = source_root
        self._blobs = blobs
        self._grant = lru_cache(maxsize=None)(lambda episode, what: grant(self._record(episode), what))
        self._hash_of = hash_of
        self._videos: OrderedDict[str, VideoReader] = OrderedDict()
        self._table = lru_cache(maxsize=2)(self._read_table)

    def episode(self, episode_id: str) -> Episode:
        """The numbers of one episode."""
        self._grant(episode_id, "signals")
        record, table = self._record(episode_id), self._table(episode_id)
        times = table["time_s"]
        empty = np.zeros((len(times), 0))
        return Episode(
            id=record.id,
            kind=record.kind,
            domain=record.domain,
            task=record.task,
            times_s=times,
            joint_positions=table.get("joints", empty),
            actions=table.get("actions", empty),
            is_success=record.is_success,
            camera_poses={n: SE3.from_wxyz_xyz(v) for n, v in _prefixed(table, "pose/").items()},
            camera_intrinsics=_prefixed(table, "intrinsics/"),
            extras=_prefixed(table, "extra/"),
        )

    def image(self, episode_id: str, camera: str, step: int) -> UInt8[np.ndarray, "h w 3"]:
        """One frame."""
        return next(self.images(episode_id, camera, [step]))

    def images(self, episode_id: str, camera: str, steps: Sequence[int]) -> Iterator[UInt8[np.ndarray, "h w 3"]]:
        """Frames in the given order, one in memory at a time."""
        self._grant(episode_id, f"images/{camera}")
        record, table = self._record(episode_id), self._table(episode_id)
        stream = _stream(record, camera)
        for step in steps:
            _check_step(record, step)
            if isinstance(stream, VideoSegment):
                reader = self._video(stream.file)
                yield reader.frame_at(stream.from_s + float(table["time_s"][step]))
            else:
                yield self._image_file(table, camera, step)

    def mask(self, episode_id: str, camera: str, step: int) -> UInt8[np.ndarray, "h w"] | None:
        """The logged mask of a frame, where there is one."""
        self._grant(episode_id, f"masks/{camera}")
        path = self._side_file("mask", episode_id, camera, step)
        return None if path is None else read_image(path, grey=True)

    def depth(self, episode_id: str, camera: str, step: int) -> Float32[np.ndarray, "h w"] | None:
        """The logged depth of a frame [m], where there is one."""
        self._grant(episode_id, f"depth/{camera}")
        path = self._side_file("depth", episode_id, camera, step)
        if path is not None:
            return read_depth(path)
        video = next((d for d in self._record(episode_id).depths if d.segment.camera == camera), None)
        if video is None:
            return None
        time_s = video.segment.from_s + float(self._table(episode_id)["time_s"][step])
        return decoded_depth(self._video(video.segment.file).codes_at(time_s), video.code)

    def _side_file(self, kind: str, episode_id: str, camera: str, step: int) -> Path | None:
        """The checked file that comes with a frame, where there is one."""
        _check_step(self._record(episode_id), step)
        table = self._table(episode_id)
        paths = table.get(f"{kind}/{camera}")
        if paths is None or not paths[step]:
            return None
        path = inside(self._root, str(paths[step]))
        self._check(path, str(table[f"{kind}_sha256/{camera}"][step]))
        return path

    def close(self) -> None:
        """Close the videos that are open."""
        while self._videos:
            self._videos.popitem()[1].close()

    def _record(self, episode_id: str) -> EpisodeRecord:
        if episode_id not in self._record_from_id:
            raise SourceError(
                f"The capture has no episode {episode_id!r}.",
                remedy=f"choose from {list(self._record_from_id)}",
            )
        return self._record_from_id[episode_id]

    def _read_table(self, episode_id: str) -> Table:
        return self._blobs.get_table(self._record(episode_id).signals)

    def _video(self, file: FileRef) -> VideoReader:
        if file.path not in self._videos:
            path = inside(self._root, file.path)
            self._check(path, file.sha256)
            self._videos[file.path] = VideoReader(path)
            if len(self._videos) > _OPEN_VIDEOS:
                self._videos.popitem(last=False)[1].close()
        self._videos.move_to_end(file.path)
        return self._videos[file.path]

    def _image_file(self, table: Table, camera: str, step: int) -> UInt8[np.ndarray, "h w 3"]:
        relative = str(table[f"image/{camera}"][step])
        if not relative:
            raise SourceError(f"Step {step} has no image of {camera!r}.", remedy="choose another step")
        path = inside(self._root, relative)
        self._check(path, str(table[f"image_sha256/{camera}"][step]))
        return read_image(path)

    def _check(self, path: Path, sha256: str) -> None:
        if not path.exists() or self._hash_of(path) != sha256:
            raise SourceError(
                f"{path} is gone or has changed since it was ingested.",
                remedy="restore the file, or ingest the changed log as a new project with `gemel new`",
            )


def _stream(record: EpisodeRecord, camera: str) -> ImageStream:
    names = [stream.camera for stream in record.streams]
    if camera not in names:
        raise SourceError(f"Camera of episode {record.id}: {choices_text(camera, names)}", remedy="use one of them")
    return record.stream(camera)


def _check_step(record: EpisodeRecord, step: int) -> None:
    if not 0 <= step < record.step_count:
        raise SourceError(
            f"Episode {record.id!r} has no step {step}.", remedy=f"choose from 0 to {record.step_count - 1}"
        )


def _prefixed(table: Table, prefix: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): column for name, column in table.items() if name.startswith(prefix)}
