"""A folder of masks, one PNG each: OBJECT/EPISODE/CAMERA/STEP.png, white is object."""

from pathlib import Path

import numpy as np
from jaxtyping import Bool, UInt8

from gemel.errors import SourceError
from gemel.services.formats.image_file import encode_png, read_image

FrameKey = tuple[str, str, int]
"""Episode, camera and step."""
_WHITE = 127


class MaskFolder:
    """Reads masks; a folder that does not exist has none."""

    def __init__(self, root: Path | None) -> None:
        self._root = root

    def files(self) -> list[Path]:
        """Every mask file, in a fixed order."""
        return sorted(self._root.glob("*/*/*/*.png")) if self._root is not None and self._root.is_dir() else []

    def mask(self, name: str, key: FrameKey) -> UInt8[np.ndarray, "h w"] | None:
        """The mask of an object in a frame, 0 to 255; None without one."""
        path = None if self._root is None else mask_path(self._root, name, key)
        return read_image(path, grey=True) if path is not None and path.is_file() else None

    def all_masks(self) -> dict[str, dict[FrameKey, Bool[np.ndarray, "_ _"]]]:
        """Every mask, by object and frame."""
        found: dict[str, dict[FrameKey, Bool[np.ndarray, "_ _"]]] = {}
        for path in self.files():
            camera, episode, name = (path.parents[i].name for i in range(3))
            if not path.stem.isdecimal():
                raise SourceError(f"{path} is not named by a step.", remedy="name masks OBJECT/EPISODE/CAMERA/STEP.png")
            found.setdefault(name, {})[episode, camera, int(path.stem)] = read_image(path, grey=True) > _WHITE
        return found


def mask_path(root: Path, name: str, key: FrameKey) -> Path:
    """Where the mask of an object in a frame is kept; names that would leave the folder are refused."""
    episode, camera, step = key
    for part in (name, episode, camera):
        if not part or part in (".", "..") or any(c in part for c in "/\\\0"):
            raise SourceError(f"{part!r} cannot be a folder's name.", remedy="use names without slashes")
    return root / name / episode / camera / f"{step}.png"


def write_mask(root: Path, name: str, key: FrameKey, mask: Bool[np.ndarray, "h w"]) -> Path:
    """Keep a mask; what was there is replaced."""
    path = mask_path(root, name, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    grey = np.where(mask, 255, 0).astype(np.uint8)
    path.write_bytes(encode_png(np.repeat(grey[..., None], 3, axis=2)))
    return path
