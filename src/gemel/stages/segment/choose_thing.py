"""Which of the things on the table is meant: the one under the prompt, the one of that colour, else the largest."""

import numpy as np
from jaxtyping import Bool, Float

from gemel.stages.segment.hull import project_voxels
from gemel.stages.segment.placed import Placed

_RGB_FROM_WORD = {
    "red": (170, 40, 40), "orange": (220, 110, 40), "yellow": (220, 200, 60), "green": (50, 140, 70),
    "blue": (50, 80, 170), "purple": (120, 60, 150), "pink": (220, 140, 170), "brown": (120, 80, 50),
    "wooden": (160, 115, 70), "wood": (160, 115, 70), "white": (225, 225, 225), "black": (30, 30, 30),
    "grey": (130, 130, 130), "gray": (130, 130, 130), "steel": (125, 127, 130), "metal": (125, 127, 130),
    "silver": (170, 170, 175),
}  # fmt: skip
"""What people call a colour, as a camera sees it; a weak hint only."""


def chosen_thing(
    things: list[Float[np.ndarray, "_ 3"]], voxel_m: float, keys: list[Placed],
    prompted: list[tuple[Placed, Bool[np.ndarray, "_ _"]]], text: str,
) -> Float[np.ndarray, "n 3"] | None:  # fmt: skip
    """One of the things (best first), or None when there is none or no thing lies where the prompt points."""
    if not things:
        return None
    if prompted:
        overlaps = [_overlap(thing, voxel_m, prompted) for thing in things]
        best = int(np.argmax(overlaps))
        return things[best] if overlaps[best] > 0.1 else None
    words = [word for word in text.lower().replace("-", " ").split() if word in _RGB_FROM_WORD]
    large = [thing for thing in things if len(thing) >= 0.25 * len(things[0])]
    if not words or len(large) == 1:
        return things[0]
    wanted = np.mean([_RGB_FROM_WORD[word] for word in words], axis=0)
    return min(large, key=lambda thing: float(np.linalg.norm(_mean_colour(thing, voxel_m, keys) - wanted)))


def _overlap(
    thing: Float[np.ndarray, "n 3"], voxel_m: float, prompted: list[tuple[Placed, Bool[np.ndarray, "_ _"]]]
) -> float:
    """Mean over prompts of how much of the prompted region the thing covers."""
    shares = []
    for placed, region in prompted:
        outline = project_voxels(thing, np.ones(len(thing)), voxel_m, placed) > 0.0
        shares.append((outline & region).sum() / max(int(region.sum()), 1))
    return float(np.mean(shares))


def _mean_colour(thing: Float[np.ndarray, "n 3"], voxel_m: float, keys: list[Placed]) -> Float[np.ndarray, "3"]:
    pixels = []
    for placed in keys[::4]:
        outline = project_voxels(thing, np.ones(len(thing)), voxel_m, placed) > 0.0
        pixels.append(placed.view.image[outline & ~placed.near_robot])
    return np.concatenate(pixels).mean(axis=0) if pixels else np.zeros(3)
