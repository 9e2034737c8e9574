"""Views whose place in the world is settled, and where the robot may be in them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from gemel.geometry import SE3
from gemel.stages.segment.appearance import colour_bins
from gemel.stages.segment.view import View

_ROBOT_MARGIN = 0.03
"""How far the robot may be from where its model is drawn, as part of the image's width."""
_ROBOT_SURE = 0.02
"""How deep inside the drawn robot a pixel is surely robot, as part of the image's width."""


@dataclass(frozen=True, eq=False)
class Placed:
    """A view with its refined pose."""

    view: View
    pose: SE3 | None
    """`T_world_camera`, or None when nothing is known about it."""
    weight: float = 1.0
    """How much it counts as evidence in space: views of one standing camera share the weight of two."""
    is_sure: bool = False
    """Whether a person said which of its pixels are object."""
    shift_px: tuple[int, int] = (0, 0)
    """How many columns and rows what is projected into this view has to be moved to fit."""

    @cached_property
    def bins(self) -> Int[np.ndarray, "h w"]:
        """The colour bin of each pixel."""
        return colour_bins(self.view.image)

    @cached_property
    def near_robot(self) -> Bool[np.ndarray, "h w"]:
        """Where the robot may be."""
        return grown(self._robot, self._pixels(_ROBOT_MARGIN))

    @cached_property
    def on_robot(self) -> Bool[np.ndarray, "h w"]:
        """Where the robot surely is, unless something stands in front of it."""
        return shrunk(self._robot, self._pixels(_ROBOT_SURE))

    @property
    def _robot(self) -> Bool[np.ndarray, "h w"]:
        return np.zeros(self.view.size, dtype=bool) if self.view.robot is None else self.view.robot

    def _pixels(self, part: float) -> int:
        return max(1, round(part * self.view.size[1]))


def grown(mask: Bool[np.ndarray, "h w"], radius_px: int) -> Bool[np.ndarray, "h w"]:
    """The mask and everything within the radius."""
    import cv2

    return np.asarray(cv2.dilate(mask.astype(np.uint8), _disc(radius_px)) > 0)


def shrunk(mask: Bool[np.ndarray, "h w"], radius_px: int) -> Bool[np.ndarray, "h w"]:
    """The mask without its rim; the image's border does not count as a rim."""
    import cv2

    return np.asarray(cv2.erode(mask.astype(np.uint8), _disc(radius_px), borderType=cv2.BORDER_REPLICATE) > 0)


def _disc(radius_px: int) -> np.ndarray:
    import cv2

    size = 2 * radius_px + 1
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))
