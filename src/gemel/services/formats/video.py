"""Video files: what their headers say, single frames by seeking, and writing. All through PyAV.

Reading holds two decoded frames at most, whatever the length of the file.
"""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8, UInt16

from gemel.errors import SourceError
from gemel.services.formats.mp4_boxes import refuse_cut_off
from gemel.services.formats.paths import plain_file
from gemel.services.formats.scheduling import same_scheduling

ENCODER_FROM_CODEC = {"h264": "libx264", "av1": "libsvtav1"}
_TIME_BASE = Fraction(1, 90_000)
_LAST_TICK = 2**62
_REORDERED_FRAMES = 32
_PERIOD_FRAMES = 64
_USUAL_RATE_HZ = 30.0
_FORMATS = "mov,mp4,m4a,3gp,3g2,mj2"
_SEEK_BACK_S = (0.0, 1.0, 10.0, 1e9)
_DECODE_ON_S = 1.0
"""A frame this little ahead is reached by decoding on rather than by a new seek [s]."""


@dataclass(frozen=True)
class VideoHeader:
    """What is known of a video file without decoding it."""

    codec: str
    width: int
    height: int
    frame_count: int
    period_s: float
    """Usual time between two frames [s]."""
    last_s: float
    """Time of the last frame [s]; minus infinity without any."""


def read_header(path: Path) -> VideoHeader:
    """Read a video's header and index; missing, cut-off and unreadable files raise `SourceError`."""
    with _video_errors(path), closing(_open_container(path)) as container:
        stream = _video_stream(container, path)
        refuse_cut_off(path)
        index = stream.index_entries
        # The last frames in the file are also the last in time, up to the encoder's reordering of a few.
        tail = [index[i] for i in range(max(0, len(index) - _REORDERED_FRAMES), len(index))]
        return VideoHeader(
            codec=stream.codec_context.codec.canonical_name,
            width=stream.width,
            height=stream.height,
            frame_count=len(index) or stream.frames,
            period_s=_period_s(stream),
            last_s=_last_s(stream, tail),
        )


class VideoReader:
    """Frames of one file by their time; at most two decoded frames are held. Close it, or use it as a context."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with _video_errors(path):
            self._container = _open_container(path)
            self._stream = _video_stream(self._container, path)
            self._half_period_s = 0.5 * _period_s(self._stream)
        self._decoder: Iterator[Any] | None = None
        self._before: Any = None
        self._current: Any = None

    def frame_at(self, time_s: float) -> UInt8[np.ndarray, "h w 3"]:
        """The frame that is shown at `time_s` [s in the file], as RGB.

        That is the nearest one, up to half a period away; where frames are missing inside the file, the last before.
        """
        image: UInt8[np.ndarray, "h w 3"] = self._converted(time_s, lambda frame: frame.to_ndarray(format="rgb24"))
        return image

    def codes_at(self, time_s: float) -> UInt16[np.ndarray, "h w"]:
        """The first plane of the frame that is shown at `time_s` as it was written, for video of 9 to 16 bits."""
        codes: UInt16[np.ndarray, "h w"] = self._converted(time_s, _first_plane)
        return codes

    def _converted(self, time_s: float, convert: Callable[[Any], np.ndarray]) -> np.ndarray:
        try:
            frame = self._shown_at(float(time_s))
            image = None if frame is None else convert(frame)
        except _av_errors() as error:
            self._decoder = None
            raise self._undecodable(time_s, str(error)) from error
        if image is None:
            raise self._undecodable(time_s, "the file has no frame there")
        return image

    def close(self) -> None:
        """Release the file."""
        self._container.close()

    def __enter__(self) -> "VideoReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _shown_at(self, time_s: float) -> Any:
        if not math.isfinite(time_s):
            return None
        if self._decoder is None or not self._is_reached_by_decoding_on(time_s):
            self._seek(time_s)
        assert self._decoder is not None
        while self._current is not None and _time_s(self._current) < time_s:
            following = next(self._decoder, None)
            if following is None:
                self._decoder = None
                break
            self._before, self._current = self._current, following
        return self._nearest(time_s)

    def _seek(self, time_s: float) -> None:
        """Go to a key frame at or before `time_s`, and decode it."""
        for back_s in _SEEK_BACK_S:
            ticks = max(0, min(int((time_s - back_s) / self._stream.time_base), _LAST_TICK))
            self._container.seek(ticks, stream=self._stream, backward=True)
            self._decoder = self._container.decode(self._stream)
            self._before, self._current = None, next(self._decoder, None)
            # The index is by decoding time: with reordered frames, the key frame found may be shown too late.
            if ticks == 0 or self._current is None or _time_s(self._current) <= time_s:
                return

    def _is_reached_by_decoding_on(self, time_s: float) -> bool:
        if self._current is None:
            return False
        held_s = _time_s(self._current if self._before is None else self._before)
        return held_s <= time_s < _time_s(self._current) + _DECODE_ON_S

    def _nearest(self, time_s: float) -> Any:
        """Of the frame at or after `time_s` and the one before, the one that is shown."""
        if self._current is None:
            return None
        ahead_s = _time_s(self._current) - time_s
        if abs(ahead_s) <= self._half_period_s:
            is_nearer_before = self._before is not None and time_s - _time_s(self._before) < ahead_s
            return self._before if is_nearer_before else self._current
        return self._before if ahead_s > 0 else None

    def _undecodable(self, time_s: float, reason: str) -> SourceError:
        return SourceError(
            f"The frame at {time_s:.3f} s of {self._path} cannot be decoded: {reason}.",
            remedy="run `gemel inspect` on the log; restore or re-encode the video",
        )


class VideoWriter:
    """Frames into one mp4 file, at given times, in H.264 or AV1."""

    def __init__(
        self, path: Path, *, width: int, height: int, fps: float, codec: str = "h264", rate_factor: int = 0
    ) -> None:
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
        stream.codec_context.options = _encoder_options(codec, rate_factor)
        os.environ.setdefault("SVT_LOG", "1")  # else the AV1 encoder prints its settings on every file
        stream.codec_context.thread_count = 1  # the same bytes on every machine
        self._stream = stream
        self.size_bytes = 0
        """Encoded so far; the encoder may still hold back a few frames."""

    def add(self, image: UInt8[np.ndarray, "h w 3"], time_s: float, *, is_first: bool = False) -> None:
        """Append an RGB frame; the first one of an episode becomes a key frame."""
        import av
        from av.video.frame import PictureType

        if image.shape != (self._stream.height, self._stream.width, 3):
            raise SourceError(
                f"A frame of shape {image.shape} was given to a video of {self._stream.width}x{self._stream.height}.",
                remedy="resize the frame, or state the camera's true size",
            )
        frame = av.VideoFrame.from_ndarray(image, format="rgb24")
        frame.pts, frame.time_base = round(time_s / _TIME_BASE), _TIME_BASE
        frame.pict_type = PictureType.I if is_first else PictureType.NONE
        with same_scheduling():
            self._mux(self._stream.encode(frame))

    def close(self) -> None:
        """Flush and finish the file."""
        with same_scheduling():
            self._mux(self._stream.encode())
        self._container.close()

    def _mux(self, packets: list[Any]) -> None:
        self.size_bytes += sum(packet.size for packet in packets)
        self._container.mux(packets)


def _encoder_options(codec: str, rate_factor: int) -> dict[str, str]:
    if codec == "av1":
        return {"crf": str(rate_factor or 30), "g": "2", "preset": "10", "svtav1-params": "lp=1"}  # LeRobot's defaults
    # x264's macroblock tree lets one file in forty differ from the others (frames 32 to 176 px wide, heap full of
    # other data); with it off 2000 of 2000 were equal, a tenth larger.
    return {"crf": str(rate_factor or 20), "g": "10", "preset": "fast", "bf": "0", "mbtree": "0"}


def _av_errors() -> tuple[type[Exception], ...]:
    """Whatever PyAV raises on a damaged file."""
    import av

    return (av.FFmpegError, OSError, ValueError, ArithmeticError, LookupError, MemoryError)


@contextmanager
def _video_errors(path: Path) -> Iterator[None]:
    """One clear error for whatever is wrong with a video."""
    plain_file(path, "video")
    try:
        yield
    except _av_errors() as error:
        raise SourceError(
            f"The video {path} cannot be opened: it is damaged, cut off, or no video ({error}).",
            remedy="copy it again from the recording machine",
        ) from error


def _open_container(path: Path) -> Any:
    import av

    # Named formats only: a playlist that calls itself mp4 could otherwise lead the decoder to any file.
    return av.open(str(path), options={"format_whitelist": _FORMATS, "protocol_whitelist": "file"})


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


def _first_plane(frame: Any) -> UInt16[np.ndarray, "h w"]:
    """Not through FFmpeg's conversions, which would stretch 12 bits to 16."""
    if not frame.format.components[0].bits > 8 or frame.format.is_big_endian:
        raise ValueError(f"its numbers are {frame.format.name}, not 9 to 16 bits in little-endian order")
    plane = frame.planes[0]
    rows = np.frombuffer(plane, dtype="<u2").reshape(frame.height, plane.line_size // 2)
    return rows[:, : frame.width].astype(np.uint16)


def _time_s(frame: Any) -> float:
    if frame.time is None:
        raise ValueError("a frame has no time stamp")
    return float(frame.time)


def _period_s(stream: Any) -> float:
    """Median step of the first frames: the average rate would be wrong where the recording has gaps."""
    index = stream.index_entries
    stamps = np.array([index[i].timestamp for i in range(min(_PERIOD_FRAMES, len(index)))], dtype=np.float64)
    steps = np.diff(np.sort(stamps))
    rate = float(stream.average_rate or 0) or _USUAL_RATE_HZ
    return float(np.median(steps[steps > 0]) * stream.time_base) if (steps > 0).any() else 1.0 / rate


def _last_s(stream: Any, tail: list[Any]) -> float:
    """Time of the last frame. The index holds decoding times, which reordering puts before the times shown."""
    if not tail:
        return -math.inf
    first = stream.index_entries[0].timestamp
    delay = max(0, (first if stream.start_time is None else stream.start_time) - first)
    return float((max(entry.timestamp for entry in tail) + delay) * stream.time_base)
