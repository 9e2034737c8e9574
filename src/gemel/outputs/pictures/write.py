"""Pictures to files."""

from collections.abc import Mapping
from pathlib import Path

from gemel.errors import StoreError
from gemel.outputs.pictures.sheet import Picture
from gemel.services.formats.image_file import encode_png


def write_pictures(folder: Path, pictures: Mapping[str, Picture]) -> list[Path]:
    """One PNG for each name in a folder that is made if needed; older pictures of other names stay."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{name}.png" for name in pictures]
        for path, picture in zip(paths, pictures.values(), strict=True):
            path.write_bytes(encode_png(picture))
    except OSError as error:
        raise StoreError(
            f"Pictures cannot be written to {folder}: {error.strerror}.", remedy="check permissions and free space"
        ) from error
    return paths
