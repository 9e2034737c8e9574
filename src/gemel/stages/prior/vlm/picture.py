"""A picture of an object for a model to look at: cut out, enlarged, with the object's axes drawn on it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, UInt8

from gemel.geometry import SE3, CameraModel, pixel_centres, sample_bilinear

Image = UInt8[np.ndarray, "_ _ 3"]
_COLOURS = ((230, 40, 40), (30, 170, 30), (40, 70, 240))
"""Of the axes x, y and z, as the prompt calls them."""
_MARGIN = 0.35
"""What is shown around the object, over its size: axes reach beyond its outline, and surroundings give scale."""
_WANTED_PX = 512
"""Longer side of the picture that is shown [px]."""


@dataclass(frozen=True, eq=False)
class ObjectPicture:
    """One frame, and where the object is in it."""

    label: str
    """Camera, episode and step."""
    image: Image
    mask: Bool[np.ndarray, "h w"]
    camera: CameraModel
    T_camera_object: SE3
    middle: Float[np.ndarray, "3"]
    """Middle of the object's bounding box in its frame [m]."""


def marked(picture: ObjectPicture, extents: Float[np.ndarray, "3"]) -> Image:
    """The object's surroundings, enlarged, with a line along each axis from -1 to +1 (the end with the disc)."""
    top, bottom, left, right = _window(picture.mask)
    cut = picture.image[top:bottom, left:right]
    size = _WANTED_PX / max(cut.shape[:2])
    canvas = _resized(cut, size)
    thick = max(1, max(canvas.shape[:2]) // 200)
    for axis, colour in enumerate(_COLOURS):
        ends = np.zeros((2, 3))
        ends[:, axis] = 0.5 * float(extents[axis]) * np.array([-1.0, 1.0])
        pixels = picture.camera.project(picture.T_camera_object @ (picture.middle + ends))
        pixels = (pixels - [left, top]) * size
        if np.isfinite(pixels).all():
            _line(canvas, pixels[0], pixels[1], colour, thick)
            _disc(canvas, pixels[1], 4 * thick, colour)
    return canvas


def _resized(image: Image, size: float) -> Image:
    """The image `size` times as large, interpolated."""
    height, width = (max(round(size * n), 1) for n in image.shape[:2])
    at = np.clip(pixel_centres(width, height) / size, 0.0, image.shape[1::-1])
    return np.asarray(sample_bilinear(image, at)[0])


def _window(mask: Bool[np.ndarray, "h w"]) -> tuple[int, int, int, int]:
    """Top, bottom, left and right of the mask with a margin, inside the image."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return 0, mask.shape[0], 0, mask.shape[1]
    around = int(_MARGIN * max(np.ptp(rows), np.ptp(columns))) + 2
    return (
        max(int(rows[0]) - around, 0), min(int(rows[-1]) + around + 1, mask.shape[0]),
        max(int(columns[0]) - around, 0), min(int(columns[-1]) + around + 1, mask.shape[1]),
    )  # fmt: skip


def _line(
    canvas: Image, start: Float[np.ndarray, "2"], end: Float[np.ndarray, "2"], colour: tuple[int, int, int], thick: int
) -> None:
    """A line of discs, in place."""
    count = min(int(np.abs(end - start).max()) + 2, 4096)
    for xy in np.linspace(start, end, count):
        _disc(canvas, xy, thick, colour)


def _disc(canvas: Image, xy: Float[np.ndarray, "2"], radius: int, colour: tuple[int, int, int]) -> None:
    """A filled disc, in place; what falls outside is left out."""
    x, y = (int(np.clip(value, -1e6, 1e6)) for value in xy)
    rows, columns = np.mgrid[y - radius : y + radius + 1, x - radius : x + radius + 1]
    keep = (rows - y) ** 2 + (columns - x) ** 2 <= radius**2
    keep &= (rows >= 0) & (rows < canvas.shape[0]) & (columns >= 0) & (columns < canvas.shape[1])
    canvas[rows[keep], columns[keep]] = colour
