"""Single images: PNG is lossless, JPEG is read, and nothing else is taken for a picture."""

import contextlib
import struct
import zlib
from pathlib import Path

import av  # noqa: TID253 (an independent look at what was written)
import numpy as np
import pytest

from gemel.errors import SourceError
from gemel.services.formats.image_file import encode_png, image_size, read_image


@pytest.fixture
def picture() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (30, 44, 3), dtype=np.uint8)


def test_png_round_trip(picture: np.ndarray, tmp_path: Path) -> None:
    """Bit by bit, with the size in the header; grey is a plane of the same size."""
    path = tmp_path / "a.png"
    path.write_bytes(encode_png(picture))
    assert np.array_equal(read_image(path), picture)
    assert image_size(path) == (44, 30)
    assert read_image(path, grey=True).shape == (30, 44)


def test_jpeg_is_read(tmp_path: Path) -> None:
    """Within what the codec loses on a smooth picture."""
    smooth = np.linspace(30, 220, 64).astype(np.uint8)[None, :, None].repeat(48, 0).repeat(3, 2)
    path = tmp_path / "a.jpg"
    with av.open(str(path), "w", format="image2") as container:
        stream = container.add_stream("mjpeg", rate=1)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuvj420p"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(smooth, format="rgb24")))
        container.mux(stream.encode())
    assert image_size(path) == (64, 48)
    assert np.abs(read_image(path).astype(int) - smooth).mean() < 4


def test_a_percent_sign_in_the_name_is_no_pattern(picture: np.ndarray, tmp_path: Path) -> None:
    """`frame%03d.png` is the name of one file."""
    path = tmp_path / "frame%03d.png"
    path.write_bytes(encode_png(picture))
    assert image_size(path) == (44, 30)


def _huge_png() -> bytes:
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has 0 bytes"),
        (b"text that looks like art\n" * 50, "neither PNG nor JPEG"),
        (b"#EXTM3U\nfile:///etc/passwd\n", "neither PNG nor JPEG"),
        (b"\x89PNG\r\n\x1a\n", "cannot be decoded"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 100, "cannot be decoded"),
        (_huge_png(), "cannot be decoded"),
    ],
    ids=["empty", "text", "playlist", "png start", "jpeg start", "huge"],
)
def test_files_that_are_no_image(data: bytes, message: str, tmp_path: Path) -> None:
    """One error that names the file, from both functions; a header of 3.6 gigapixels is not believed."""
    path = tmp_path / "wrong.png"
    path.write_bytes(data)
    for read in (read_image, image_size):
        with pytest.raises(SourceError, match=message) as caught:
            read(path)
        assert "wrong.png" in caught.value.problem
        assert "copy it again" in caught.value.remedy


def test_cut_off_images_never_raise_anything_else(picture: np.ndarray, tmp_path: Path) -> None:
    """A PNG cut anywhere is decoded as far as it goes or refused; there is no third outcome."""
    data, path = encode_png(picture), tmp_path / "cut.png"
    for size in np.random.default_rng(1).integers(1, len(data), 30):
        path.write_bytes(data[:size])
        for read in (read_image, image_size):
            with contextlib.suppress(SourceError):
                read(path)
    with pytest.raises(SourceError, match="is missing"):
        read_image(tmp_path / "none.png")
