"""Video files: what their headers say, single frames by seeking, and writing. All through PyAV.

Reading holds one decoded frame at a time, whatever the length of the file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from gemel.errors import SourceError

ENCODER_FROM_CODEC = {"h264": "libx264", "av1": "libsvtav1"}
_TIME_BASE = Fraction(1, 90_000)
_REORDERED_FRAMES = 32
_DECODE_ON_S = 1.0
"""A frame this little ahead is reached by decoding on rather than by a new seek [s]."""


@dataclass(frozen=True)
class VideoHeader:
    """What is known of a video file without decoding it."""

    codec: str
    width: int
    height: int
    frame_count: int
    rate_hz: float
    end_s: float
    """Time at which the last frame ends [s]."""


def read_header(path: Path) -> VideoHeader:
    """Read a video's header and index; missing, cut-off and unreadable files raise `SourceError`."""
    with _open(path) as container:
        stream = _video_stream(container, path)
        index = stream.index_entries
        # The last frames in the file are also the last in time, up to the encoder's reordering of a few.
        tail = [index[i] for i in range(max(0, len(index) - _REORDERED_FRAMES), len(index))]
        _refuse_cut_off(path, tail)
        rate = float(stream.average_rate or stream.base_rate or 0) or 1.0
        last_s = max((entry.timestamp for entry in tail), default=0) * float(stream.time_base)
        return VideoHeader(
            codec=stream.codec_context.codec.canonical_name,
            width=stream.width,
            height=stream.height,
            frame_count=len(index) or stream.frames,
            rate_hz=rate,
            end_s=last_s + 1.0 / rate if tail else 0.0,
        )


class VideoReader:
    """Frames of one file by their time. Close it, or use it as a context."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._container = _open_container(path)
        self._stream = _video_stream(self._container, path)
        self._half_period_s = 0.5 / float(self._stream.average_rate or 30)
        self._decoder: Iterator[Any] | None = None
        self._current: Any = None

    def frame_at(self, time_s: float) -> UInt8[np.ndarray, "h w 3"]:
        """The frame that is shown at `time_s` [s in the file], as RGB."""
        try:
            frame = self._seek_and_decode(time_s)
        except (OSError, ValueError) as error:  # PyAV's decoding errors are of these two kinds
            raise self._undecodable(time_s, str(error)) from error
        if frame is None:
            raise self._undecodable(time_s, "the file ends before it")
        image: UInt8[np.ndarray, "h w 3"] = frame.to_ndarray(format="rgb24")
        return image

    def close(self) -> None:
        """Release the file."""
        self._container.close()

    def __enter__(self) -> "VideoReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _seek_and_decode(self, time_s: float) -> Any:
        if self._is_shown(self._current, time_s):
            return self._current
        now_s = -1.0 if self._current is None else float(self._current.time)
        if self._decoder is None or not now_s < time_s < now_s + _DECODE_ON_S:
            self._container.seek(max(0, int(time_s / self._stream.time_base)), stream=self._stream, backward=True)
            self._decoder = self._container.decode(self._stream)
        for frame in self._decoder:
            self._current = frame
            if float(frame.time) >= time_s - self._half_period_s:
                return frame
        self._decoder = None
        return None

    def _is_shown(self, frame: Any, time_s: float) -> bool:
        return frame is not None and abs(float(frame.time) - time_s) < self._half_period_s

    def _undecodable(self, time_s: float, reason: str) -> SourceError:
        return SourceError(
            f"The frame at {time_s:.3f} s of {self._path} cannot be decoded: {reason}.",
            remedy="run `gemel inspect` on the log; restore or re-encode the video",
        )


class VideoWriter:
    """Frames into one mp4 file, at given times, in H.264 or AV1."""

    def __init__(self, path: Path, *, width: int, height: int, fps: float, codec: str = "h264") -> None:
        import av

        if codec not in ENCODER_FROM_CODEC:
            raise SourceError(
                f"Video codec {codec!r} cannot be written.", remedy=f"use one of {sorted(ENCODER_FROM_CODEC)}"
            )
        self._container = av.open(str(path), "w")
        rate = Fraction(fps).limit_denominator(1000)
        stream: Any = self._container.add_stream(ENCODER_FROM_CODEC[codec], rate=rate)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.time_base = _TIME_BASE
        stream.codec_context.options = _encoder_options(codec)
        stream.codec_context.thread_count = 1  # the same bytes on every machine
        self._stream = stream

    def add(self, image: UInt8[np.ndarray, "h w 3"], time_s: float, *, is_first: bool = False) -> None:
        """Append an RGB frame; the first one of an episode becomes a key frame."""
        import av
        from av.video.frame import PictureType

        frame = av.VideoFrame.from_ndarray(image, format="rgb24")
        frame.pts, frame.time_base = round(time_s / _TIME_BASE), _TIME_BASE
        frame.pict_type = PictureType.I if is_first else PictureType.NONE
        self._container.mux(self._stream.encode(frame))

    def close(self) -> None:
        """Flush and finish the file."""
        self._container.mux(self._stream.encode())
        self._container.close()


def _encoder_options(codec: str) -> dict[str, str]:
    if codec == "av1":
        return {"crf": "30", "g": "2", "preset": "10", "svtav1-params": "lp=1"}  # LeRobot's defaults
    return {"crf": "20", "g": "10", "preset": "fast", "bf": "0"}


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    container = _open_container(path)
    try:
        yield container
    finally:
        container.close()


def _open_container(path: Path) -> Any:
    import av

    if not path.exists():
        raise SourceError(f"The video {path} is missing.", remedy="copy it back beside the rest of the log")
    if path.stat().st_size == 0:
        raise SourceError(f"The video {path} has 0 bytes.", remedy="copy it again from the recording machine")
    try:
        return av.open(str(path))
    except (OSError, ValueError) as error:
        raise SourceError(
            f"The video {path} cannot be opened: it is damaged, cut off, or no video ({error}).",
            remedy="copy it again from the recording machine",
        ) from error


def _video_stream(container: Any, path: Path) -> Any:
    if not container.streams.video:
        raise SourceError(f"{path} has no video stream.", remedy="check that the file is the camera's recording")
    stream = container.streams.video[0]
    if stream.codec_context is None:
        raise SourceError(
            f"The codec of {path} is unknown to this machine's decoder.",
            remedy="re-encode the video as H.264 or AV1",
        )
    return stream


def _refuse_cut_off(path: Path, entries: list[Any]) -> None:
    """An index that points past the end of the file means that the file lost its tail."""
    end = max((entry.pos + entry.size for entry in entries), default=0)
    size = path.stat().st_size
    if end > size:
        raise SourceError(
            f"The video {path} is cut off: its index needs {end} bytes and the file has {size}.",
            remedy="copy it again from the recording machine",
        )
