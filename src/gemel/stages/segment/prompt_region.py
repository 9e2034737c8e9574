"""From a point, a box or a painted mask in one frame to the region of that frame which holds the object."""

import numpy as np
from jaxtyping import Bool

from gemel.stages.segment.guess import Wanted, key_of
from gemel.stages.segment.view import View

_TURNS = 4
_FIRST_RADIUS = 0.12
"""A point alone is taken to be the middle of a thing of at most this part of the image's width in radius."""


def prompted_regions(
    views: list[View], wanted: Wanted, full_width: dict[str, int]
) -> dict[int, Bool[np.ndarray, "_ _"]]:
    """For each view with a prompt, by its place: the object's region, by GrabCut (Rother and others 2004)."""
    regions = {}
    for i, view in enumerate(views):
        scale = view.size[1] / full_width[view.camera]
        painted = wanted.painted.get(key_of(view))
        points = [p for p in wanted.prompt.points if p.frame == key_of(view)]
        boxes = [b for b in wanted.prompt.boxes if b.frame == key_of(view)]
        if painted is not None:
            regions[i] = painted
        elif any(p.is_object for p in points) or boxes:
            on = [(scale * p.xy[0], scale * p.xy[1]) for p in points if p.is_object]
            off = [(scale * p.xy[0], scale * p.xy[1]) for p in points if not p.is_object]
            box = tuple(scale * v for v in boxes[0].box) if boxes else None
            regions[i] = grab(view.image, on, off, box, view.robot)
    return regions


def grab(
    image: np.ndarray, on: list[tuple[float, float]], off: list[tuple[float, float]],
    box: tuple[float, ...] | None, robot: Bool[np.ndarray, "h w"] | None,
) -> Bool[np.ndarray, "h w"]:  # fmt: skip
    """The region around points and inside the box that differs from what is outside."""
    import cv2

    height, width = image.shape[:2]
    y, x = np.mgrid[:height, :width] + 0.5
    if box is None:
        reach = _FIRST_RADIUS * width
        near = np.min([np.hypot(x - px, y - py) for px, py in on], axis=0) < reach
    else:
        near = (x >= box[0]) & (x < box[2]) & (y >= box[1]) & (y < box[3])
    labels = np.where(near, cv2.GC_PR_FGD, cv2.GC_BGD).astype(np.uint8)
    if robot is not None:
        labels[robot] = cv2.GC_BGD
    for points, value in ((on, cv2.GC_FGD), (off, cv2.GC_BGD)):
        for px, py in points:
            labels[np.hypot(x - px, y - py) <= max(1.5, 0.01 * width)] = value
    if not (labels == cv2.GC_BGD).any() or not near.any():
        return near
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.setRNGSeed(0)
    labels, _, _ = cv2.grabCut(
        np.ascontiguousarray(image[..., ::-1]), labels, None, *models, _TURNS, cv2.GC_INIT_WITH_MASK
    )
    return np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD))
