"""Single images: PNG and JPEG in, PNG out, through PyAV (no other imaging package is needed).

The kind of file is read off its first bytes and the matching reader is forced: PyAV on its own would also "see"
a picture in a text file, or follow a playlist out of the log's folder.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt8

from gemel.errors import SourceError
from gemel.services.formats.paths import plain_file

MAX_PIXELS = 100_000_000
"""No camera is larger; a header that says so would only fill the memory."""
MILLIMETRE_M = 1e-3
_MAX_DEPTH = 2**16 - 1
_READER_FROM_START = {b"\x89PNG\r\n\x1a\n": "png_pipe", b"\xff\xd8\xff": "jpeg_pipe"}


def read_image(path: Path, *, grey: bool = False) -> UInt8[np.ndarray, "h w *channel"]:
    """An image file as RGB (h, w, 3), or as grey (h, w)."""
    with _image_errors(path):
        return decode_image(path.read_bytes(), grey=grey)


def decode_image(data: bytes, *, grey: bool = False) -> UInt8[np.ndarray, "h w *channel"]:
    """The same for bytes in memory; `ValueError` or a PyAV error when they are no image."""
    with _open(data) as container:
        _size(container)
        frame = next(iter(container.decode(video=0)), None)
        if frame is None:
            raise ValueError("it holds no picture")
        image: UInt8[np.ndarray, "h w *channel"] = frame.to_ndarray(format="gray" if grey else "rgb24")
        return image


def read_depth(path: Path) -> Float32[np.ndarray, "h w"]:
    """A 16-bit grey PNG of millimetres as metres along the camera's z; 0 where nothing was measured."""
    with _image_errors(path), _open(path.read_bytes()) as container:
        _size(container)
        frame = next(iter(container.decode(video=0)), None)
        if frame is None or not frame.format.name.startswith("gray16"):
            raise ValueError(f"depth has to be 16-bit grey, not {frame.format.name if frame else 'nothing'}")
        return np.asarray(frame.to_ndarray(), dtype=np.float32) * np.float32(MILLIMETRE_M)


def encode_depth_png(depth_m: Float32[np.ndarray, "h w"]) -> bytes:
    """Depth [m] as a 16-bit grey PNG of whole millimetres; what is beyond 65 m or not finite becomes 0."""
    millimetres = np.nan_to_num(depth_m / MILLIMETRE_M, nan=0.0, posinf=0.0, neginf=0.0).round()
    return _encoded(np.where(millimetres <= _MAX_DEPTH, millimetres, 0).astype(np.uint16), "gray16be")


def image_size(path: Path) -> tuple[int, int]:
    """Width and height [px] from the header."""
    with _image_errors(path), _open(path.read_bytes()) as container:
        return _size(container)


def encode_png(image: UInt8[np.ndarray, "h w 3"]) -> bytes:
    """An RGB image as PNG bytes."""
    return _encoded(image, "rgb24")


def _encoded(image: np.ndarray, pixel_format: str) -> bytes:
    import av

    sink = io.BytesIO()
    with av.open(sink, "w", format="image2pipe") as container:
        stream = container.add_stream("png", rate=1)
        stream.height, stream.width = image.shape[:2]
        stream.pix_fmt = pixel_format
        container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format=pixel_format)))
        container.mux(stream.encode())
    return sink.getvalue()


def _open(data: bytes) -> Any:
    import av

    reader = next((r for start, r in _READER_FROM_START.items() if data.startswith(start)), None)
    if reader is None:
        raise ValueError("it is neither PNG nor JPEG")
    return av.open(io.BytesIO(data), "r", format=reader)


def _size(container: Any) -> tuple[int, int]:
    stream = container.streams.video[0]
    width, height = int(stream.width), int(stream.height)
    if not 0 < width * height <= MAX_PIXELS:
        raise ValueError(f"its header says {width}x{height} pixels")
    return width, height


@contextmanager
def _image_errors(path: Path) -> Iterator[None]:
    """One clear error for whatever is wrong with an image."""
    import av

    plain_file(path, "image")
    try:
        yield
    except (av.FFmpegError, OSError, ValueError, IndexError, MemoryError) as error:
        raise SourceError(
            f"The image {path} cannot be decoded: {error}.", remedy="copy it again from the recording machine"
        ) from error
