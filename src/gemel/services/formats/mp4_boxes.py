"""Whether an mp4 file is whole, from the sizes that its top-level boxes state (ISO/IEC 14496-12, section 4.2)."""

import struct
from pathlib import Path

from gemel.errors import SourceError


def refuse_cut_off(path: Path) -> None:
    """Walk from box to box; one that ends past the end of the file means that the file lost its tail."""
    file_size, start = path.stat().st_size, 0
    with path.open("rb") as file:
        while start < file_size:
            file.seek(start)
            end = start + _box_size(file.read(16), file_size - start)
            if end > file_size:
                raise SourceError(
                    f"The video {path} is cut off or damaged: its boxes need {end} bytes and the file has {file_size}.",
                    remedy="copy it again from the recording machine",
                )
            start = end


def _box_size(header: bytes, left: int) -> int:
    """Size of a box from its first bytes: 32 bits, or 64 after a 1; 0 means up to the end of the file."""
    if len(header) < 8:
        return 8
    (size,) = struct.unpack(">I", header[:4])
    if size == 1:
        size = struct.unpack(">Q", header[8:16])[0] if len(header) == 16 else 16
    return left if size == 0 else max(int(size), 8)
