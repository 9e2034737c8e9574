"""Single images: PNG and JPEG in, PNG out, through PyAV (no other imaging package is needed)."""

import io
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from gemel.errors import SourceError


def read_image(path: Path, *, grey: bool = False) -> UInt8[np.ndarray, "h w *channel"]:
    """An image file as RGB (h, w, 3), or as grey (h, w)."""
    try:
        return decode_image(path.read_bytes(), grey=grey)
    except FileNotFoundError:
        raise SourceError(f"The image {path} is missing.", remedy="copy it back beside the rest of the log") from None
    except (OSError, ValueError, StopIteration) as error:
        raise SourceError(
            f"The image {path} cannot be decoded: {error}.", remedy="copy it again from the recording machine"
        ) from error


def decode_image(data: bytes, *, grey: bool = False) -> UInt8[np.ndarray, "h w *channel"]:
    """The same for bytes in memory."""
    import av

    if not data:
        raise ValueError("it has 0 bytes")
    with av.open(io.BytesIO(data), "r") as container:
        frame = next(iter(container.decode(video=0)))
        image: UInt8[np.ndarray, "h w *channel"] = frame.to_ndarray(format="gray" if grey else "rgb24")
        return image


def image_size(path: Path) -> tuple[int, int]:
    """Width and height [px] from the header."""
    import av

    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            return int(stream.width), int(stream.height)
    except (OSError, ValueError, IndexError) as error:
        raise SourceError(
            f"The image {path} cannot be read: it is missing, empty, damaged or no image.",
            remedy="copy it again from the recording machine",
        ) from error


def encode_png(image: UInt8[np.ndarray, "h w 3"]) -> bytes:
    """An RGB image as PNG bytes."""
    import av

    sink = io.BytesIO()
    with av.open(sink, "w", format="image2pipe") as container:
        stream = container.add_stream("png", rate=1)
        stream.height, stream.width = image.shape[:2]
        stream.pix_fmt = "rgb24"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
    return sink.getvalue()
