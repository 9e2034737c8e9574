"""The robot model's outline on the images, before and after calibration."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from gemel.outputs.pictures.font import labelled
from gemel.outputs.pictures.sheet import Picture, as_picture, magnification, sheet

BEFORE = (255, 60, 60)
AFTER = (60, 255, 60)


@dataclass(frozen=True, eq=False)
class RobotInView:
    """One image and where the model puts the robot in it."""

    label: str
    image: Float[np.ndarray, "h w 3"]
    """0 to 1."""
    before: Bool[np.ndarray, "h2 w2"]
    """Pixels of the robot as the lab believes it, a whole number of times finer than the image."""
    after: Bool[np.ndarray, "h2 w2"]
    """The same after calibration."""


def robot_overlay(views: Sequence[RobotInView]) -> Picture:
    """Two columns: the outline before calibration in red, and after it in green."""
    pictures = []
    for view in views:
        n = max(magnification(view.image.shape[1], wanted=480), view.before.shape[0] // view.image.shape[0])
        for mask, colour, word in ((view.before, BEFORE, "before"), (view.after, AFTER, "after")):
            picture = as_picture(view.image, size=n)
            fine = n // max(mask.shape[0] // view.image.shape[0], 1)
            outline(picture, np.kron(mask, np.ones((fine, fine), dtype=bool)), colour)
            pictures.append(labelled(picture, f"{view.label} {word}"))
    return sheet(pictures, columns=2)


def outline(picture: Picture, mask: Bool[np.ndarray, "_ _"], colour: tuple[int, int, int]) -> None:
    """Draw the border of a mask into a picture, in place; the larger of both is cut."""
    height, width = min(len(picture), len(mask)), min(picture.shape[1], mask.shape[1])
    cut = mask[:height, :width]
    edge = np.zeros_like(cut)
    edge[1:] |= cut[1:] != cut[:-1]
    edge[:, 1:] |= cut[:, 1:] != cut[:, :-1]
    picture[:height, :width][edge] = colour
