"""What the object's fit looks at: undistorted images of one still object, with masks and camera poses."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Float32

from gemel.errors import GemelError
from gemel.geometry import SE3

_SAME_DEPTH = 1.02
"""Neighbouring depths that differ by a larger factor are of different surfaces."""


@dataclass(frozen=True, eq=False)
class Views:
    """v pinhole images of equal size of one object that rests in the world.

    Pixel centres lie at +0.5; camera axes are x right, y down, z forward.
    """

    camera_names: tuple[str, ...]
    """Which camera took each view; views of one camera share its colour response."""
    images: Float32[np.ndarray, "v h w 3"]
    """RGB, 0 to 1."""
    masks: Float32[np.ndarray, "v h w"]
    """Probability that the pixel shows the object, 0 to 1."""
    ignore: Bool[np.ndarray, "v h w"]
    """Pixels that say nothing: robot, hand, unknown."""
    Ts_world_camera: SE3
    """Camera poses, batch (v)."""
    intrinsics: Float[np.ndarray, "v 4"]
    """fx, fy, cx, cy [px]."""
    depths: Float32[np.ndarray, "v h w"] | None = None
    """Logged depth along the cameras' z [m], 0 where nothing was measured; None where none was logged."""

    def __post_init__(self) -> None:
        count = len(self.images)
        lengths = (len(self.camera_names), len(self.masks), len(self.ignore), len(self.intrinsics))
        if any(length != count for length in lengths) or self.Ts_world_camera.batch_shape != (count,):
            raise GemelError(
                f"Views: {count} images with {lengths} names, masks, ignored areas and intrinsics and poses of batch "
                f"{self.Ts_world_camera.batch_shape}: expected one of each per image.",
                remedy="give one camera name, mask, ignore map, pose and row of intrinsics per image",
            )
        if self.masks.shape != self.images.shape[:3] or self.ignore.shape != self.masks.shape:
            raise GemelError(
                f"Views: images {self.images.shape}, masks {self.masks.shape}, ignore {self.ignore.shape}: expected "
                "the same height and width.",
                remedy="resize masks to their images",
            )
        if self.depths is not None and self.depths.shape != self.masks.shape:
            raise GemelError(
                f"Views: images {self.images.shape}, depths {self.depths.shape}: expected the same height and width.",
                remedy="resize depth images to their images",
            )

    def __len__(self) -> int:
        return len(self.images)

    @property
    def width(self) -> int:
        """Image width [px]."""
        return self.images.shape[2]

    @property
    def height(self) -> int:
        """Image height [px]."""
        return self.images.shape[1]

    @property
    def Ts_camera_world(self) -> Float[np.ndarray, "v 4 4"]:
        """World-to-camera matrices."""
        return self.Ts_world_camera.inverse().as_matrix()

    def subset(self, indices: Sequence[int]) -> "Views":
        """The views at the given indices, in their order."""
        rows = np.asarray(indices, dtype=np.int64)
        return replace(
            self,
            camera_names=tuple(self.camera_names[i] for i in rows),
            images=self.images[rows],
            masks=self.masks[rows],
            ignore=self.ignore[rows],
            Ts_world_camera=self.Ts_world_camera[rows],
            intrinsics=self.intrinsics[rows],
            depths=None if self.depths is None else self.depths[rows],
        )

    def half_size(self) -> "Views":
        """Every 2x2 block of pixels averaged; an odd last row or column is dropped.

        A block is ignored if any of its pixels is, and has a depth if all of its pixels have nearly the same.
        """
        return replace(
            self,
            images=_blocks(self.images).mean(axis=(2, 4), dtype=np.float32),
            masks=_blocks(self.masks[..., None])[..., 0].mean(axis=(2, 4), dtype=np.float32),
            ignore=np.asarray(_blocks(self.ignore[..., None])[..., 0].any(axis=(2, 4))),
            intrinsics=0.5 * self.intrinsics,
            depths=None if self.depths is None else _half_depths(self.depths),
        )


def _half_depths(depths: Float32[np.ndarray, "v h w"]) -> Float32[np.ndarray, "v _ _"]:
    blocks = _blocks(depths[..., None])[..., 0]
    low, high = blocks.min(axis=(2, 4)), blocks.max(axis=(2, 4))
    is_even = (low > 0.0) & (high < _SAME_DEPTH * low)
    return np.where(is_even, blocks.mean(axis=(2, 4), dtype=np.float32), np.float32(0.0))


def _blocks(images: np.ndarray) -> np.ndarray:
    """(v, h/2, 2, w/2, 2, c) from (v, h, w, c)."""
    count, height, width, channels = images.shape
    even = images[:, : height // 2 * 2, : width // 2 * 2]
    return even.reshape(count, height // 2, 2, width // 2, 2, channels)
